package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Sample is the wire form of traffic.Sampler. A controller that reads slowly holds up
// the sampling only: the intervals that pass meanwhile are left out.
func (s *Server) Sample(r *agentpb.SampleRequest, samples agentpb.Agent_SampleServer) error {
	sampling := traffic.Sampling{Interval: time.Duration(r.GetIntervalNanos()), Span: time.Duration(r.GetSpanNanos()), Ports: r.GetPorts()}
	if sampling.Interval <= 0 {
		return toStatus(fmt.Errorf("sampling every %s: want an interval above 0", sampling.Interval))
	}
	return s.gate.concurrent(samples.Context(), func(ctx context.Context, _ *session) error {
		if s.engine.sampler == nil {
			return fmt.Errorf("sampling: %w", traffic.ErrUnsupported)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		return s.engine.sampler.Sample(ctx, sampling, func(one traffic.Sample) {
			err := samples.Send(&agentpb.SampleResponse{
				Interval: int64(one.Interval), AtNanos: int64(one.At), Sent: one.Sent, Received: one.Received,
				Ports: portsToWire(one.Ports), Device: deviceToWire(one.Device),
			})
			if err != nil {
				cancel(err)
			}
		})
	})
}

// Sample implements traffic.Sampler; it fails when the agent's engine does not.
func (c *Client) Sample(ctx context.Context, sampling traffic.Sampling, take func(traffic.Sample)) error {
	return c.link.concurrent(ctx, "sampling", func(ctx context.Context) error {
		samples, err := c.link.rpc.Sample(ctx, &agentpb.SampleRequest{IntervalNanos: int64(sampling.Interval), SpanNanos: int64(sampling.Span), Ports: sampling.Ports})
		if err != nil {
			return err
		}
		for {
			w, err := samples.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			take(traffic.Sample{
				Interval: int(w.GetInterval()), At: time.Duration(w.GetAtNanos()), Sent: w.GetSent(), Received: w.GetReceived(),
				Ports: portsFromWire(w.GetPorts()), Device: deviceFromWire(w.GetDevice()),
			})
		}
	})
}

// Sample implements traffic.Sampler: it adds up what all agents counted at the end of
// an interval. An interval that one of them left out is left out.
func (f *Fleet) Sample(ctx context.Context, sampling traffic.Sampling, take func(traffic.Sample)) error {
	sums := &sums{agents: len(f.members), parts: map[int]*sum{}, take: take}
	return f.each(ctx, func(ctx context.Context, _ int, c *Client) error { return c.Sample(ctx, sampling, sums.add) })
}

// sums adds up the samples of several agents.
type sums struct {
	agents int
	take   func(traffic.Sample)

	mu sync.Mutex
	// parts by the number of the interval, those that are not complete yet.
	parts map[int]*sum
	// last interval that was complete.
	last int
}

// sum contains the counts of some agents in an interval.
type sum struct {
	traffic.Sample
	agents int
}

// add adds the sample of one agent, and passes on the sum of the interval when it was
// the last one. The sum is as old as the oldest of its samples.
func (s *sums) add(one traffic.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.Interval <= s.last {
		return
	}
	all := s.parts[one.Interval]
	if all == nil {
		all = &sum{Sample: traffic.Sample{Interval: one.Interval}}
		s.parts[one.Interval] = all
	}
	all.At = max(all.At, one.At)
	all.Sent += one.Sent
	all.Received += one.Received
	if one.Ports != nil {
		if all.Ports == nil {
			all.Ports = traffic.NewPortSamples()
		}
		all.Ports.Add(one.Ports)
	}
	if one.Device != nil {
		if all.Device == nil {
			all.Device = &traffic.DeviceSample{}
		}
		all.Device.Add(one.Device)
	}
	if all.agents++; all.agents < s.agents {
		return
	}
	for interval := range s.parts {
		if interval <= one.Interval {
			delete(s.parts, interval)
		}
	}
	s.last = one.Interval
	s.take(all.Sample)
}

func portsToWire(p *traffic.PortSamples) *agentpb.PortSamples {
	if p == nil {
		return nil
	}
	w := &agentpb.PortSamples{CaughtUp: p.CaughtUp}
	for at, c := range p.Tx {
		w.Tx = append(w.Tx, &agentpb.TxSample{Port: at.Port, Class: at.Class, Sent: c.Sent, Bytes: c.Bytes})
	}
	for at, c := range p.Rx {
		w.Rx = append(w.Rx, &agentpb.RxSample{
			Port: at.Port, Class: at.Class, Received: c.Received, Bytes: c.Bytes,
			Duplicate: c.Duplicate, Reordered: c.Reordered, Lost: c.Lost, Latency: latencyToWire(c.Latency),
		})
	}
	return w
}

func portsFromWire(w *agentpb.PortSamples) *traffic.PortSamples {
	if w == nil {
		return nil
	}
	p := traffic.NewPortSamples()
	for port, frames := range w.GetCaughtUp() {
		traffic.Put(&p.CaughtUp, port, frames)
	}
	for _, c := range w.GetTx() {
		p.Tx[traffic.ClassAt{Port: c.GetPort(), Class: c.GetClass()}] = traffic.TxSample{Sent: c.GetSent(), Bytes: c.GetBytes()}
	}
	for _, c := range w.GetRx() {
		p.Rx[traffic.ClassAt{Port: c.GetPort(), Class: c.GetClass()}] = traffic.RxSample{
			Received: c.GetReceived(), Bytes: c.GetBytes(),
			Duplicate: c.GetDuplicate(), Reordered: c.GetReordered(), Lost: c.GetLost(), Latency: latencyFromWire(c.GetLatency()),
		}
	}
	return p
}
