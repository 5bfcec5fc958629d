package method

import (
	"context"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// fallingBehind is a fake generator that falls behind its schedule at some times and sends
// late frames to catch up, over a device that loses frames at other times.
type fallingBehind struct {
	*sim.Engine
	// stalls and losses from the beginning of sending, of late and lost frames each.
	stalls, losses []time.Duration
	late, lost     uint64
	// silent engines do not report late frames while a trial runs.
	silent bool
}

func rxOf(p *traffic.PortSamples) map[traffic.ClassAt]traffic.RxSample {
	if p == nil {
		return nil
	}
	return p.Rx
}

func before(all []time.Duration, at time.Duration) (n uint64) {
	for _, t := range all {
		if t < at {
			n++
		}
	}
	return n
}

func (f *fallingBehind) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	return f.Engine.Sample(ctx, s, func(one traffic.Sample) {
		lost := f.lost * before(f.losses, one.At)
		one.Received -= lost
		for at, rx := range rxOf(one.Ports) {
			if at.Port == "p2" {
				rx.Received, rx.Lost = rx.Received-lost, rx.Lost+lost
				one.Ports.Rx[at] = rx
			}
		}
		if one.Ports != nil && !f.silent {
			one.Ports.CaughtUp = map[string]uint64{"p1": f.late * before(f.stalls, one.At)}
		}
		take(one)
	})
}

func (f *fallingBehind) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := f.Engine.Read(ctx)
	if m.TxTime < time.Second { // learning
		return m, err
	}
	key := traffic.RxKey{Stream: 0, Port: "p2"}
	rx := m.Rx[key]
	rx.Received -= f.lost * uint64(len(f.losses))
	m.Rx[key] = rx
	m.Pacing = map[string]traffic.Pacing{"p1": {MaxLag: time.Millisecond, MaxBurst: f.late, CaughtUp: f.late * uint64(len(f.stalls))}}
	return m, err
}

// A long soak has more late frames than the device loses. Only those count that left when
// frames were lost.
func TestALongSoakConvictsTheDevice(t *testing.T) {
	minutes := func(all ...int) []time.Duration {
		var out []time.Duration
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Minute+500*time.Millisecond)
		}
		return out
	}
	for name, tc := range map[string]struct {
		stalls, losses []time.Duration
		lost           uint64
		silent         bool
		interval       time.Duration
		stalled        bool
	}{
		"far from all stalls":                   {minutes(1, 10, 20, 30), minutes(5, 15, 25), 50, false, 0, false},
		"far from all stalls, with a series":    {minutes(1, 10, 20, 30), minutes(5, 15, 25), 50, false, 10 * time.Second, false},
		"in the stalls":                         {minutes(1, 10, 20, 30), minutes(1, 10), 50, false, 0, true},
		"more than was late in the stalls":      {minutes(1, 10, 20, 30), minutes(1), 150, false, 0, false},
		"in the stalls and once outside":        {minutes(1, 10, 20, 30), minutes(1, 10, 15), 50, false, 0, false},
		"without times, as many as were late":   {minutes(1, 10, 20, 30), minutes(5, 15, 25), 50, true, 0, true},
		"without times, more than were late":    {minutes(1), minutes(5, 15, 25), 50, true, 0, false},
		"just after a stall":                    {minutes(1), []time.Duration{time.Minute + 1400*time.Millisecond}, 50, false, 0, true},
		"an hour without any stall of a device": {nil, minutes(5), 50, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			test := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "1%"}}
			test.Soak.Duration.Duration = time.Hour
			if tc.interval > 0 {
				test.Soak.SamplingInterval = lasting(tc.interval)
			}
			tester, e, step := labFor(t, test, 400*time.Millisecond, nil)
			f := &fallingBehind{Engine: e, stalls: tc.stalls, losses: tc.losses, late: 100, lost: tc.lost, silent: tc.silent}
			tester.Generator.Generator, tester.Generator.Sampler = f, f
			out := mustRun(t, tester, step)
			if out.Trial.Lost != tc.lost*uint64(len(tc.losses)) {
				t.Fatalf("%d frames lost: %s", out.Trial.Lost, out.Message)
			}
			if out.Trial.Stalled() != tc.stalled || (out.Limit != nil) != tc.stalled || (len(out.Trial.Stalls()) > 0) != tc.stalled {
				t.Errorf("stalled %v, want %v: %v", out.Trial.Stalled(), tc.stalled, out.Trial.Stalls())
			}
		})
	}
}
