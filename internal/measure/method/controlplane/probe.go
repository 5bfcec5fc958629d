package controlplane

import (
	"context"
	"math"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// Probing: how many frames a second are sent to routes at most, and how long after a probe
// the next one begins.
const (
	probeRate  = 20_000
	probeAgain = 200 * time.Millisecond
)

// probed counts the frames sent to routes, one to each, and those that did not arrive.
type probed struct{ sent, missing uint64 }

// probe sends a frame to each route to which frames of the profile go, from one port, until
// all of them arrive, or no further ones for so long.
func probe(ctx context.Context, tester *trials.Tester, step plan.Step, parts []blockPart, patience time.Duration) (probed, error) {
	streams := toParts(tester, parts)
	if len(streams) == 0 || len(tester.Plan.Sizes) == 0 {
		return probed{}, nil
	}
	step.Size = plan.Bytes(tester.Plan.Sizes[0].All()[0])
	var best probed
	err := tester.WithStreams(ctx, step, streams, func(o *trials.Tester) error {
		trial, err := onceEach(o, step.Size)
		if err != nil {
			return err
		}
		clock := o.Generator.Clock()
		best.missing = math.MaxUint64
		for since := clock.Now(); ; {
			var m traffic.Measurement
			err := o.Persist(ctx, trials.Event{Step: step}, func() (err error) {
				m, _, err = o.Generator.Run(ctx, trial, trials.LearnLook)
				return err
			})
			if err != nil {
				return err
			}
			o.Learning.Introduced = true // A later trial does not count frames of this one.
			now := arrivedOf(o, m, step.Size)
			if now.missing < best.missing {
				best, since = now, clock.Now()
			}
			if best.missing == 0 || clock.Now().Sub(since) >= patience {
				return nil
			}
			if err := clock.Sleep(ctx, probeAgain); err != nil {
				return err
			}
		}
	})
	return best, err
}

// toParts returns streams from one port to the networks of parts of announcements, as far as
// frames of the profile go to them.
func toParts(tester *trials.Tester, parts []blockPart) []plan.Stream {
	var out []plan.Stream
	for _, t := range targetsOf(tester, parts) {
		out = append(out, t.Stream)
	}
	return out
}

// targetsOf are the streams of toParts with their parts.
func targetsOf(tester *trials.Tester, parts []blockPart) []target {
	var out []target
	for k, p := range parts {
		from := -1
		for _, s := range tester.Plan.Streams {
			if s.Networks == nil || from >= 0 && s.Tx != from {
				continue
			}
			if tester.Plan.Sessions[tester.Plan.Announcements[s.Networks.Announcement].Session].Name != p.session.Name {
				continue
			}
			one, common := within(s, p.routes)
			if !common {
				continue
			}
			from, one.ID = s.Tx, uint16(len(out))
			offset, _ := p.routes.Index(one.Networks.First)
			out = append(out, target{one, k, offset})
		}
	}
	return out
}

// within returns the part of a stream that goes to some of the routes, and whether it goes to
// any.
func within(s plan.Stream, routes routing.Routes) (plan.Stream, bool) {
	n := routing.Routes{First: s.Networks.First, Count: s.Networks.Count, Stride: s.Networks.Stride}
	first, count := uint32(0), uint32(0)
	if at, in := n.Index(routes.First); in {
		first, count = at, min(routes.Count, n.Count-at)
	} else if at, in := routes.Index(n.First); in {
		count = min(n.Count, routes.Count-at)
	}
	if count == 0 {
		return s, false
	}
	if first > 0 {
		_, s = s.Split(first)
	}
	if count < s.Networks.Count {
		s, _ = s.Split(count)
	}
	return s, true
}

// onceEach is a trial with one frame to each network.
func onceEach(tester *trials.Tester, size plan.Size) (traffic.Trial, error) {
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	loads, err := tester.Plan.At(size).Loads(plan.Share(500_000))
	if err != nil {
		return trial, err
	}
	streams := tester.Plan.At(size).Streams()
	most := traffic.Rate{Frames: probeRate, PerNanos: int64(time.Second) * int64(len(streams))}
	for _, s := range streams {
		load := traffic.Load{Rate: loads[s.ID].Rate, Frames: uint64(s.Networks.Count)}
		if load.Rate.FramesPerSecond().Cmp(most.FramesPerSecond()) > 0 {
			load.Rate = most
		}
		trial.Loads[s.ID] = load
	}
	return trial, nil
}

// arrivedOf counts the frames of a probe.
func arrivedOf(tester *trials.Tester, m traffic.Measurement, size plan.Size) (p probed) {
	for _, s := range tester.Plan.At(size).Streams() {
		sent := m.Tx[s.ID].Sent
		p.sent += sent
		for _, port := range s.Rx {
			p.missing += sent - min(sent, m.Rx[traffic.RxKey{Stream: s.ID, Port: tester.Plan.Ports[port].Name}].Received)
		}
	}
	return p
}
