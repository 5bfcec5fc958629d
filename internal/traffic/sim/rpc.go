package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// hostTime is the time of a round trip that both hosts take, and hostJitter the highest time that comes on top.
	hostTime, hostJitter = 20 * time.Microsecond, 2 * time.Microsecond
	// tcpHeaders are the bytes of IPv4 and TCP headers of a segment.
	tcpHeaders = 52
)

// RPC implements workload.Engine. A message is on the links as long as its frames take, one link after the other, and
// the device holds its last frame for a latency of the model. Hosts take a constant time with a jitter.
func (a applications) RPC(ctx context.Context, r workload.RPCRequest) (out workload.RPC, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	if out.Settings, err = modelledSettings(r.CongestionControl, r.MTU); err != nil {
		return out, err
	}
	device, err := a.deviceLatency(r)
	if err != nil {
		return out, err
	}
	links := 2 * a.onLink(r, r.Client)
	draw := rand.New(rand.NewPCG(a.engine.run.handling.seed, uint64(r.Bytes)))
	host := func() time.Duration { return hostTime + time.Duration(draw.Int64N(int64(hostJitter))) }
	var took time.Duration
	for n := range workload.Rounds {
		var through, back []time.Duration
		for range r.Round(n) {
			// Without the device, a message is on one link.
			b := host() + links
			t := host() + links + 2*a.onLink(r, r.Server) + device.draw(draw) + device.draw(draw)
			through, back, took = append(through, t), append(back, b), took+t+b
		}
		out.RoundTrips, out.BackToBack = append(out.RoundTrips, through), append(out.BackToBack, back)
	}
	return out, a.engine.clock.Sleep(ctx, took)
}

// deviceLatency returns the latency of the last frame of a message at the load of the background.
func (a applications) deviceLatency(r workload.RPCRequest) (shape, error) {
	sizes := frameSizes(r)
	row, err := a.nearest(sizes[len(sizes)-1])
	if err != nil {
		return shape{}, err
	}
	return row.shape(portLoad{arrived: uint64(r.BackgroundPPM), capacity: uint64(row.capacityPPM)}), nil
}

// draw returns the latency of a frame, with the distribution of the frames of a trial.
func (s shape) draw(r *rand.Rand) time.Duration {
	low, high := s.min, s.avg
	if s.max > s.min && r.Uint64N(s.max-s.min) >= s.max-s.avg {
		low, high = s.avg, s.max
	}
	return time.Duration(low + r.Uint64N(high-low+1))
}

// frameSizes returns the sizes of the frames of a message, with FCS.
func frameSizes(r workload.RPCRequest) (sizes []int) {
	for left := r.Bytes; left > 0; {
		payload := min(left, r.MTU-tcpHeaders)
		sizes = append(sizes, frame.PacketFrame(payload+tcpHeaders))
		left -= payload
	}
	return sizes
}

// onLink returns how long a message takes on the link of a port.
func (a applications) onLink(r workload.RPCRequest, port string) time.Duration {
	bits := int64(0)
	for _, size := range frameSizes(r) {
		bits += frame.WireBits(size)
	}
	return time.Duration(float64(bits) / float64(a.engine.tester.ports[port].BitsPerSecond) * float64(time.Second))
}
