package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawIncast makes a pair whose device has a port with a buffer. One that holds all blocks drops nothing, and no
// goodput is above the rate of the port.
func drawIncast(r draw) Pair {
	d := r.forwarder()
	buffer := int64(r.spread(20_000, 2_000_000))
	d.Behaviour.PortBuffer = &buffer
	servers, block := r.between(1, 16), r.between(1_000, 100_000)
	test := v1alpha1.IncastTest{Servers: []int32{int32(servers)}, BlockSize: block, Iterations: int32(r.between(1, 10)), MTU: 1500, CongestionControl: "reno"}
	if r.chance(50) {
		size := int64(d.Size)
		test.Stateless = &v1alpha1.StatelessTraffic{Load: v1alpha1.LoadAmount(percent(r.between(10_000, d.CapacityPPM/2))), FrameSize: d.Size}
		buffer = max(buffer, size)
	}
	const headers, payload = 1518, 1448
	// Each block begins a packet of its own.
	most := servers * (block/payload + 1) * headers
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "incast", Incast: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Incast
			if s == nil || s.DeviceDrops == nil {
				return nil
			}
			drops := Claim{Figure: "dropped packets", Low: float64(*s.DeviceDrops), High: float64(*s.DeviceDrops), TrueLow: 0, TrueHigh: 0}
			if most > buffer || s.Stateless != nil {
				drops.TrueHigh = math.Inf(1)
			}
			claims := []Claim{drops}
			if s.Stateless != nil {
				claims = append(claims, d.statelessClaims(row, buffer)...)
			}
			return append(claims, Claim{Figure: "goodput, bit/s", Low: float64(s.GoodputBitsPerSecond), High: float64(s.GoodputBitsPerSecond), TrueLow: 0, TrueHigh: d.Speed.BitsPerSecond})
		},
	}
}

// statelessClaims are the claims of a row about frames next to an incast: the drops of the port are frames and segments,
// what it carries is at most its rate, and no frame waits longer than a full buffer takes.
func (d Device) statelessClaims(row *v1alpha1.ResultRow, buffer int64) []Claim {
	incast := row.Incast
	s := incast.Stateless
	const gap, ethernet = 20, 1538
	// The tester begins to send up to a frame of each port before the connections do, and ends so much later.
	ports := float64(d.Ports)
	drops := Claim{Figure: "dropped frames and segments", Low: float64(s.Lost + s.TCPSegmentsLost), High: float64(s.Lost + s.TCPSegmentsLost)}
	drops.TrueLow, drops.TrueHigh = float64(*incast.DeviceDrops)-ports*2, float64(*incast.DeviceDrops)+ports*2
	carried := Claim{Figure: "carried, bit/s", Low: float64(s.BitsPerSecond + s.TCPBitsPerSecond), High: float64(s.BitsPerSecond + s.TCPBitsPerSecond), TrueHigh: d.Speed.BitsPerSecond}
	if s.OfferedFramesPerSecond > 0 { // Frames that are in the buffer at the end arrive after the time of sending.
		carried.TrueHigh += float64(8*(buffer+ethernet)) * float64(s.OfferedFramesPerSecond+1) / float64(s.Sent)
	}
	claims := []Claim{drops, carried}
	if l := s.Latency; l != nil {
		full := float64(buffer+ethernet) / 64 * (64 + gap) * 8e9 / d.Speed.BitsPerSecond
		claims = append(claims,
			Claim{Figure: "latency of frames, least, ns", Low: float64(l.MinNs), High: float64(l.MinNs), TrueLow: float64(d.LatencyMin), TrueHigh: float64(d.LatencyMax) + full},
			Claim{Figure: "latency of frames, most, ns", Low: float64(l.MaxNs), High: float64(l.MaxNs), TrueLow: float64(d.LatencyMin), TrueHigh: float64(d.LatencyMax) + full})
	}
	return claims
}
