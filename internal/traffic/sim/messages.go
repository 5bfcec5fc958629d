package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// messageHeaders are the bytes of the headers of IPv4 and UDP.
	messageHeaders = 28
	// messageSamples is the number of latencies from which percentiles are taken.
	messageSamples = 10_000
)

// Messages implements workload.Engine. The device sends one copy to each port of subscribers, as many messages per second as
// its model has capacity at this frame size. It loses the others evenly among the groups. Hosts lose nothing.
func (a applications) Messages(ctx context.Context, r workload.MessagesRequest) (out workload.Messages, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	size := frame.PacketFrame(r.Bytes + messageHeaders)
	row, err := a.nearest(size)
	if err != nil {
		return out, err
	}
	line := func(port string) float64 {
		return float64(a.engine.tester.ports[port].BitsPerSecond) / float64(frame.WireBits(size))
	}
	rate, links := 0.0, map[string]bool{}
	for _, p := range r.Publishers {
		if !links[p] {
			links[p], rate = true, rate+line(p)
		}
	}
	rate = min(rate, r.Rate)
	out.MTU, out.Sent = r.MTU, max(1, int64(r.Rate*r.Duration.Seconds()+0.5))
	out.SendSpan = time.Duration(float64(out.Sent-1) / rate * float64(time.Second))
	draw := rand.New(rand.NewPCG(a.engine.run.handling.seed, uint64(r.Rate)))
	for i, port := range r.Subscribers {
		capacity := line(port) * float64(row.capacityPPM) / 1e6
		lost := int64(0)
		if rate > capacity {
			lost = int64(float64(out.Sent) * (1 - capacity/rate))
		}
		onLinks := time.Duration((1/line(r.Publishers[0]) + 1/line(port)) * float64(time.Second))
		latency := row.shape(portLoad{arrived: uint64(rate / line(port) * 1e6), capacity: uint64(row.capacityPPM)})
		times := make([]time.Duration, min(messageSamples, max(1, out.Sent-lost)))
		for n := range times {
			times[n] = hostTime + time.Duration(draw.Int64N(int64(hostJitter))) + onLinks + latency.draw(draw)
		}
		out.Subscribers = append(out.Subscribers, workload.Subscriber{
			Address: port, Port: port, Received: out.Sent - lost, Lost: lost, LostByGroup: workload.Stripe(lost, r.Groups), ReceiveBuffer: 2 * r.ReceiveBuffers[i],
			P50: workload.Percentile(times, 50), P99: workload.Percentile(times, 99), Max: workload.Percentile(times, 100),
		})
	}
	return out, a.engine.clock.Sleep(ctx, out.SendSpan)
}
