package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// target is a stream with a frame to each of a number of routes in turn. All ports of the bed
// keep the arrival of the first frame to each route.
type target struct {
	plan.Stream
	// part is the index of the announced part that the routes are in, and offset the number of
	// the first route there.
	part   int
	offset uint32
}

// prefix is the route number i of the target.
func (t target) prefix(i uint32) netip.Prefix {
	return routing.Routes{First: t.Networks.First, Stride: t.Networks.Stride}.Prefix(i)
}

// probes are frames to each of a number of routes, by which each route is checked on its own.
type probes struct {
	targets   []target
	perSecond int64
	// rates of the streams, and the time in which each route gets a frame.
	rates map[uint16]traffic.Rate
	turn  time.Duration
}

// newProbes returns the probes of the parts of announcements to which frames of the profile go,
// with at most so many frames per second.
func newProbes(tester *trials.Tester, parts []blockPart, perSecond int32) *probes {
	p := &probes{perSecond: int64(perSecond)}
	for _, t := range targetsOf(tester, parts) {
		p.targets = append(p.targets, t.tracked(tester))
	}
	return p
}

// tracked returns the target with frames of which all ports of the bed count those to each route.
func (t target) tracked(tester *trials.Tester) target {
	t.Track = traffic.TrackTimes
	h := &t.Headers // The microflows are the routes.
	h.SrcMACCount, h.DstMACCount, h.SrcIPCount, h.SrcPortCount, h.DstPortCount = 1, 1, 1, 1, 1
	for port := range tester.Plan.Ports {
		if !slices.Contains(t.right(), port) {
			t.Watch = append(slices.Clip(t.Watch), port)
		}
	}
	return t
}

// right are the indexes of the ports at which frames of the target may arrive.
func (t target) right() []int { return t.Arrivals() }

// count is the number of routes.
func (p *probes) count() (n int64) {
	for _, t := range p.targets {
		n += int64(t.Networks.Count)
	}
	return n
}

// load divides the frames per second among the streams, so that each route of a port gets as
// many as any other. A port sends half of its line rate at most.
func (p *probes) load(tester *trials.Tester, size plan.Size) {
	behind := map[int]int64{}
	for _, t := range p.targets {
		behind[t.Tx] += int64(t.Networks.Count)
	}
	all := p.count()
	p.rates, p.turn = map[uint16]traffic.Rate{}, 0
	for _, t := range p.targets {
		half := tester.Plan.Ports[t.Tx].BitsPerSecond / frame.WireBits(size.Bytes) / 2
		perSecond := min(max(1, p.perSecond*behind[t.Tx]/all), max(1, half))
		share, of := perSecond*int64(t.Networks.Count), behind[t.Tx]*int64(time.Second)
		common := max(frame.CommonDivisor(share, of), 1)
		p.rates[t.ID] = traffic.Rate{Frames: share / common, PerNanos: of / common}
		p.turn = max(p.turn, time.Duration(of/perSecond))
	}
}

// trial sends so many rounds of frames to each route, or frames for a duration.
func (p *probes) trial(rounds int32, d time.Duration) traffic.Trial {
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}, Duration: d}
	for _, t := range p.targets {
		trial.Loads[t.ID] = traffic.Load{Rate: p.rates[t.ID], Frames: uint64(rounds) * uint64(t.Networks.Count)}
	}
	return trial
}

// arrived contains what some ports received of a target: when the first frame to each route
// arrived at the first of the ports, 0 if none did, and the number of all frames.
type arrived struct {
	first  []uint64
	frames uint64
}

// arrivedAt returns what has arrived at some ports in the trial in hand.
func arrivedAt(ctx context.Context, tester *trials.Tester, t target, ports []int) (arrived, error) {
	a := arrived{first: make([]uint64, t.Networks.Count)}
	for _, port := range ports {
		key := traffic.RxKey{Stream: t.ID, Port: tester.Plan.Ports[port].Name}
		err := tester.Generator.Microflows.Microflows(ctx, key, func(part traffic.MicroflowPart) error {
			if len(part.Records) != len(part.FirstNs) {
				return fmt.Errorf("port %s keeps no times", key.Port)
			}
			for i, ns := range part.FirstNs {
				a.frames += uint64(part.Records[i].Received)
				if at := &a.first[(part.First+uint64(i))%uint64(len(a.first))]; ns > 0 && (*at == 0 || ns < *at) {
					*at = ns
				}
			}
			return nil
		})
		if err != nil {
			return a, fmt.Errorf("reading which routes frames arrived of: %w", err)
		}
	}
	return a, nil
}

// found describes what the device does with frames to each route.
type found struct {
	probes *probes
	ports  []plan.Port
	// forwarded reports, by target and number, to which routes frames arrived at a right
	// port, and wrong contains the index of the first wrong port at which frames arrived.
	forwarded [][]bool
	wrong     []map[uint32]int
	// trial is the last one, rounds the number of frames to each route in all trials, and
	// received the number of frames at right ports.
	trial    *trials.Trial
	rounds   int32
	received uint64
	// droppedByTester is the number of frames that the tester's ports lost in the last trial.
	droppedByTester uint64
}

// confirmAgain is the maximum number of trials in which dropped routes are confirmed while the
// device, or the tester, loses frames to others as well.
const confirmAgain = 3

// confirm sends rounds of frames to all routes, and finds what becomes of the frames to each. If
// frames to forwarded routes were lost, too, dropped routes are tried again.
func (p *probes) confirm(ctx context.Context, tester *trials.Tester, step plan.Step, rounds int32) (*found, error) {
	f := &found{probes: p, ports: tester.Plan.Ports}
	for _, t := range p.targets {
		f.forwarded = append(f.forwarded, make([]bool, t.Networks.Count))
		f.wrong = append(f.wrong, map[uint32]int{})
	}
	length := time.Duration(rounds) * p.turn
	for range confirmAgain {
		trial, err := tester.Twice(ctx, trials.Event{Step: step, Duration: length}, p.trial(rounds, 0), max(length, time.Second))
		if err != nil {
			return nil, err
		}
		if err := f.add(ctx, tester, trial, rounds); err != nil {
			return nil, err
		}
		if _, dropped, _ := f.counts(); dropped == 0 || f.lost() == 0 {
			break
		}
	}
	return f, nil
}

// lost returns the number of frames that did not arrive at a right port, although others to the
// same route did.
func (f *found) lost() uint64 {
	arriving := uint64(0)
	for _, all := range f.forwarded {
		for _, forwarded := range all {
			if forwarded {
				arriving++
			}
		}
	}
	expected := arriving * uint64(f.rounds)
	return expected - min(expected, f.received)
}

// add adds a trial with so many frames to each route, which was the last one.
func (f *found) add(ctx context.Context, tester *trials.Tester, trial *trials.Trial, rounds int32) error {
	f.trial, f.rounds, f.droppedByTester = trial, f.rounds+rounds, 0
	for _, n := range trial.Counters.Measurement.Dropped {
		f.droppedByTester += n
	}
	for k, t := range f.probes.targets {
		at, err := arrivedAt(ctx, tester, t, t.right())
		if err != nil {
			return err
		}
		for i, ns := range at.first {
			f.forwarded[k][i] = f.forwarded[k][i] || ns > 0
		}
		f.received += at.frames
		for _, port := range t.Watch {
			at, err := arrivedAt(ctx, tester, t, []int{port})
			if err != nil {
				return err
			}
			for i, ns := range at.first {
				if _, known := f.wrong[k][uint32(i)]; ns > 0 && !known {
					f.wrong[k][uint32(i)] = port
				}
			}
		}
	}
	return nil
}

// each calls do with every route to which frames are dropped or misrouted, in their order. The
// port of a dropped route is -1.
func (f *found) each(do func(target int, number uint32, port int)) {
	for k, all := range f.forwarded {
		for i, forwarded := range all {
			if port, wrong := f.wrong[k][uint32(i)]; wrong {
				do(k, uint32(i), port)
			} else if !forwarded {
				do(k, uint32(i), -1)
			}
		}
	}
}

// counts are the numbers of routes by what becomes of frames to them. A route whose frames also
// arrive at a wrong port is misrouted.
func (f *found) counts() (forwarded, dropped, misrouted int64) {
	f.each(func(_ int, _ uint32, port int) {
		if port < 0 {
			dropped++
		} else {
			misrouted++
		}
	})
	return f.probes.count() - dropped - misrouted, dropped, misrouted
}

// doubt explains that the tester can have lost all frames to a route itself; empty if it did
// not.
func (f *found) doubt() string {
	if _, dropped, _ := f.counts(); dropped == 0 || f.droppedByTester < uint64(f.rounds) {
		return ""
	}
	return fmt.Sprintf("the tester's ports lost %s frames that had arrived, which can be all %d frames to a route that counts as dropped: lower probesPerSecond",
		traffic.Grouped(f.droppedByTester), f.rounds)
}

// maxPrefixes is the maximum number of routes of each kind that a row names.
const maxPrefixes = 100

// fill puts the counts and the first routes of each kind into a summary.
func (f *found) fill(sum *v1alpha1.FIBTruthSummary, before *programming) {
	sum.Forwarded, sum.Dropped, sum.Misrouted = f.counts()
	sum.Rounds = f.rounds
	f.each(func(k int, i uint32, port int) {
		prefix := f.probes.targets[k].prefix(i).String()
		switch {
		case port >= 0 && len(sum.MisroutedPrefixes) < maxPrefixes:
			sum.MisroutedPrefixes = append(sum.MisroutedPrefixes, v1alpha1.MisroutedPrefix{Prefix: prefix, Port: f.ports[port].Name})
		case port < 0:
			if before.first[k][i] > 0 {
				sum.Forgotten++
			}
			if len(sum.DroppedPrefixes) < maxPrefixes {
				sum.DroppedPrefixes = append(sum.DroppedPrefixes, prefix)
			}
		}
	})
	sum.LostProbes = int64(f.lost())
}
