package trials

import (
	"context"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Trials that are longer than longTrial compare the times of losses with those at which the
// tester was late. In a shorter one the tester sends few late frames.
const (
	longTrial = 2 * time.Minute
	// lookForStalls is the minimum interval at which the counters are read for that, and
	// stallSamples is the maximum number of samples of a trial.
	lookForStalls = time.Second
	stallSamples  = 10_000
)

// stallTimes returns the actions that sample a long trial at a load for the times of losses and of late
// frames; none where the trial is short, or the engine does not report them.
func stallTimes(ctx context.Context, g *Generator, p plan.Plan, step plan.Step, load plan.Amount) ([]Action, error) {
	d := step.TrialDuration
	if d <= longTrial || g.Sampler == nil {
		return nil, nil
	}
	if gaps, err := g.ReportsGaps(ctx); err != nil || !gaps {
		return nil, err
	}
	loads, err := p.At(step.Size).Loads(load)
	if err != nil {
		return nil, err
	}
	var moments []moment
	s := Sampler{Interval: max(lookForStalls, d/stallSamples), Ports: true, forget: func() { moments = nil }}
	s.take = func(one traffic.Sample) bool {
		if one.Ports == nil || one.Ports.CaughtUp == nil {
			return false // The engine does not report late frames.
		}
		m := moment{at: one.At, late: one.Ports.CaughtUp}
		for _, rx := range withFurther(p, one.Ports.Rx) {
			m.lost += rx.Lost
		}
		moments = append(moments, m)
		return true
	}
	a, err := s.Action(g, d)
	if err != nil {
		return nil, err
	}
	a.finish = func(t *Trial) {
		later := widestGap(loads) + time.Duration(t.Counters.Latency().MaxNs)
		t.faults.inStalls = t.faults.lossInStalls(moments, later, t.TxTime, t.Lost)
	}
	return []Action{a}, nil
}

// widestGap returns the longest time between two frames of a stream: a loss is seen when the
// next frame arrives.
func widestGap(loads map[uint16]traffic.Load) time.Duration {
	var longest time.Duration
	for _, load := range loads {
		if !load.Max && load.Rate.Frames > 0 {
			longest = max(longest, time.Duration(load.Rate.PerNanos/load.Rate.Frames))
		}
	}
	return longest
}

// moment contains what was lost up to a moment of a trial, and how many frames of each port
// were late.
type moment struct {
	at   time.Duration
	lost uint64
	late map[string]uint64
}

// lossInStalls returns how many of the lost frames were lost when ports sent late frames in
// bursts that a loss can be due to; nil when that is not known. A loss is seen so much later
// than it happened.
func (f *faults) lossInStalls(all []moment, later, took time.Duration, lost uint64) *uint64 {
	bursts := map[string]uint64{}
	for port, p := range f.pacing {
		if p.MaxBurst <= HarmlessBurst {
			continue
		}
		bursts[port] = p.CaughtUp
		for _, m := range all {
			if _, known := m.late[port]; !known {
				return nil
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	all = append(slices.Clone(all), moment{at: max(took, all[len(all)-1].at), lost: lost, late: bursts})
	// What arrives later was not lost.
	for i := len(all) - 1; i > 0; i-- {
		all[i-1].lost = min(all[i-1].lost, all[i].lost)
	}
	explained, first := uint64(0), 0
	var before moment
	for i, m := range all {
		missing := m.lost - before.lost
		// From the last moment before the loss can have happened to the next one after it was
		// seen.
		for first < i && all[first].at+later < before.at {
			first++
		}
		if missing > 0 {
			var from moment
			if first > 0 {
				from = all[first-1]
			}
			explained += min(missing, lateBetween(bursts, from, all[min(i+1, len(all)-1)]))
		}
		before = m
	}
	return &explained
}

// lateBetween counts the late frames between two moments of those ports that sent more than a
// harmless burst.
func lateBetween(ports map[string]uint64, from, to moment) (n uint64) {
	for port := range ports {
		if late := to.late[port] - min(to.late[port], from.late[port]); late > HarmlessBurst {
			n += late
		}
	}
	return n
}
