package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawRPCLatency makes a pair whose device holds the last frame of each message for a known time. Its share in a round
// trip is twice this time, and the time of a message on the second link.
func drawRPCLatency(r draw) Pair {
	d := r.forwarder()
	size := int32(r.between(1, 16_384))
	test := v1alpha1.RPCLatencyTest{
		MessageSizes: []int32{size}, Requests: int32(r.between(100, 2000)), WarmUpRequests: 10, MTU: one(r, int32(1500), 9000), CongestionControl: "reno",
		BackgroundFrameSize: d.Size,
	}
	if r.chance(50) {
		test.Background = []v1alpha1.LoadAmount{v1alpha1.LoadAmount(percent(r.between(10_000, d.CapacityPPM)))}
	}
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "rpc", RPCLatency: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.RPCLatency
			if s == nil || s.Device == nil {
				return nil
			}
			load := 0.0
			if s.Background != nil {
				load = float64(s.Background.LoadPPM) / float64(d.CapacityPPM)
			}
			const jitterOfHosts, roundings = 2000, 8
			onLink := 2 * messageBits(size, test.MTU) * 1e9 / d.Speed.BitsPerSecond
			longest := float64(d.LatencyMin) + min(load, 1)*float64(d.LatencyMax-d.LatencyMin)
			return []Claim{{
				Figure: "share of the device, ns", Low: float64(s.Device.LowNs), High: float64(s.Device.HighNs),
				TrueLow: 2*float64(d.LatencyMin) + onLink - jitterOfHosts - roundings, TrueHigh: 2*longest + onLink + jitterOfHosts + roundings,
			}}
		},
	}
}

// messageBits returns the bits on the link of a message over TCP, with preambles and gaps.
func messageBits(bytes, mtu int32) (bits float64) {
	const headers, framing, gap, least = 52, 18, 20, 64
	for left := bytes; left > 0; left -= mtu - headers {
		bits += 8 * float64(max(min(left, mtu-headers)+headers+framing, least)+gap)
	}
	return bits
}
