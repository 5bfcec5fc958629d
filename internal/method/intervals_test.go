package method

import (
	"errors"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// watchedSoak runs a trial of a second at 50 % and returns its intervals.
func watchedSoak(t *testing.T, fail func(int) error) (Outcome, []Interval) {
	t.Helper()
	test := sampled(time.Second, 100*time.Millisecond)
	test.Soak.SamplingInterval = nil
	lab, e, step := labFor(t, test, 400*time.Millisecond, nil)
	r := &resetAt{Engine: e, fail: fail}
	lab.gen, lab.sampler = r, r
	var all []Interval
	WithIntervals(100*time.Millisecond, traffic.Capabilities{Gaps: true}, func(i Interval) { all = append(all, i) })(lab)
	return mustRun(t, lab, step), all
}

// The intervals of a trial add up to the trial.
func TestIntervalsOfATrial(t *testing.T) {
	out, all := watchedSoak(t, nil)
	if len(all) != 10 {
		t.Fatalf("%d intervals", len(all))
	}
	var intended, sent, received uint64
	for n, i := range all {
		if i.Event.LoadPPM != 500_000 || i.Event.Step.Test.Name != "soak" || i.Length != 100*time.Millisecond || i.At != time.Duration(n+1)*i.Length || !i.Gaps || i.Ordering {
			t.Fatalf("interval %d: %+v", n, i)
		}
		for _, p := range i.Ports {
			intended, sent, received = intended+p.Intended, sent+p.Tx.Sent, received+p.Rx.Received
			if p.Rx.Latency.Count != p.Rx.Received || p.Rx.Latency.MinNs == 0 {
				t.Errorf("interval %d of %v: latency of %d of %d frames", n, p.ClassAt, p.Rx.Latency.Count, p.Rx.Received)
			}
		}
	}
	last := all[len(all)-1]
	if intended != out.Trial.Intended || sent != out.Trial.Sent || received != out.Trial.Received || sent == 0 {
		t.Errorf("%d intended, %d sent, %d received; the trial has %d, %d, %d", intended, sent, received, out.Trial.Intended, out.Trial.Sent, out.Trial.Received)
	}
	if len(last.Ports) != 4 || last.Ports[0].Class != "unicast" || last.Ports[0].Port != "p1" || 4*last.Ports[0].TxTotal.Sent != sent {
		t.Errorf("the last interval: %+v", last.Ports)
	}
}

// An interval that cannot be sampled is part of the next one, and the trial goes on.
func TestAnIntervalThatIsNotSampled(t *testing.T) {
	out, all := watchedSoak(t, func(sample int) error {
		if sample == 5 {
			return errors.New("connection lost")
		}
		return nil
	})
	var sent uint64
	longest := time.Duration(0)
	for _, i := range all {
		longest = max(longest, i.Length)
		for _, p := range i.Ports {
			sent += p.Tx.Sent
		}
	}
	if out.Trials != 1 || len(all) != 8 || longest != 300*time.Millisecond || sent != out.Trial.Sent {
		t.Errorf("%d trials, %d intervals up to %v with %d of %d frames", out.Trials, len(all), longest, sent, out.Trial.Sent)
	}
}
