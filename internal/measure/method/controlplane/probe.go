package controlplane

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
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

// probed contains the number of routes to which a frame should be sent (sent), and the number of routes
// whose frame did not arrive (missing). SuchAs names some routes whose frame did not arrive in the last
// try, if the engine knows them. Doubt explains why the tester may have lost the frames of the last try;
// empty if it did not.
type probed struct {
	sent, missing uint64
	suchAs        string
	doubt         string
}

// probe sends a frame to each route to which frames of the profile go, from one port, until
// all of them arrive, or no further ones for so long.
func probe(ctx context.Context, tester *trials.Tester, step plan.Step, parts []blockPart, patience time.Duration) (probed, error) {
	targets := trackedTargets(tester, parts)
	streams := streamsOf(targets)
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
			if best.missing == 0 {
				return nil
			}
			if clock.Now().Sub(since) >= patience {
				best.doubt = trials.NewTrial(o.Plan, step.Size, 0, m.TxTime, m).Doubt()
				best.suchAs, err = missingRoutes(ctx, o, targets)
				return err
			}
			if err := clock.Sleep(ctx, probeAgain); err != nil {
				return err
			}
		}
	})
	return best, err
}

// trackedMost is the largest number of routes whose frames are counted one by one in a test
// that is not about that.
const trackedMost = 4 << 20

// trackedTargets are the targets of parts of announcements. Frames to each route are counted if
// the engine does that.
func trackedTargets(tester *trials.Tester, parts []blockPart) []target {
	targets := targetsOf(tester, parts)
	routes := 0
	for _, t := range targets {
		routes += int(t.Networks.Count)
	}
	if tester.Generator.Microflows == nil || routes > trackedMost {
		return targets
	}
	for i := range targets {
		targets[i] = targets[i].tracked(tester)
	}
	return targets
}

// streamsOf are the streams of targets.
func streamsOf(targets []target) []plan.Stream {
	var all []plan.Stream
	for _, t := range targets {
		all = append(all, t.Stream)
	}
	return all
}

// namedMost is the number of routes that a message names.
const namedMost = 3

// missingRoutes names the first routes of which no frame arrived at a right port in the trial in
// hand, with the wrong port at which one did; empty if the frames to each are not counted.
func missingRoutes(ctx context.Context, tester *trials.Tester, targets []target) (string, error) {
	var names []string
	for _, t := range targets {
		if t.Track != traffic.TrackTimes {
			continue
		}
		right, err := arrivedAt(ctx, tester, t, t.right())
		if err != nil {
			return "", err
		}
		wrong := make([]arrived, len(t.Watch))
		for i, port := range t.Watch {
			if wrong[i], err = arrivedAt(ctx, tester, t, []int{port}); err != nil {
				return "", err
			}
		}
		for n, ns := range right.first {
			if ns > 0 {
				continue
			}
			name := t.prefix(uint32(n)).String()
			if i := slices.IndexFunc(wrong, func(a arrived) bool { return a.first[n] > 0 }); i >= 0 {
				name += fmt.Sprintf(" (to port %s)", tester.Plan.Ports[t.Watch[i]].Name)
			}
			if names = append(names, name); len(names) == namedMost {
				return strings.Join(names, ", "), nil
			}
		}
	}
	return strings.Join(names, ", "), nil
}

// targetsOf returns streams from one port to the networks of parts of announcements, as far as
// frames of the profile go to them.
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

// arrivedOf counts the frames of a probe. A frame that the tester did not send is missing, too.
func arrivedOf(tester *trials.Tester, m traffic.Measurement, size plan.Size) (p probed) {
	for _, s := range tester.Plan.At(size).Streams() {
		sent := uint64(s.Networks.Count)
		p.sent += sent
		for _, port := range s.Rx {
			p.missing += sent - min(sent, m.Rx[traffic.RxKey{Stream: s.ID, Port: tester.Plan.Ports[port].Name}].Received)
		}
	}
	return p
}
