package labsim

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
)

// small is a lab that is simulated within a second.
func small(seed uint64) Config {
	return Config{
		Beds: 24, Teams: 6, Benchmarks: 2500, Load: 1.5, Run: 10 * time.Minute, Window: 6 * time.Hour, Seed: seed,
		Aging: queue.Aging{Interval: 6 * time.Hour, Points: 100, Max: 1000},
	}
}

// TestSharesFollowWeights compares the policies on the same traces: the operator's keeps to
// what teams are due, and the others do not.
func TestSharesFollowWeights(t *testing.T) {
	for seed := range uint64(3) {
		fair, fifo, kueue := Simulate(Fair, small(seed)), Simulate(FIFO, small(seed)), Simulate(Kueue, small(seed))
		t.Logf("fair  %+v\nfifo  %+v\nkueue %+v", fair, fifo, kueue)
		if fair.Windows < 5 || fair.Within < 0.9 {
			t.Errorf("seed %d: of %d windows %.2f are within 5 %% of what was due", seed, fair.Windows, fair.Within)
		}
		if fair.Deviation95 >= kueue.Deviation95 || fair.Deviation95 >= fifo.Deviation95 {
			t.Errorf("seed %d: the deviation is %.3f, that of fifo %.3f, that of kueue %.3f", seed, fair.Deviation95, fifo.Deviation95, kueue.Deviation95)
		}
		if fair.Utilization < 0.97*fifo.Utilization {
			t.Errorf("seed %d: %.3f of the beds are used, and %.3f by fifo", seed, fair.Utilization, fifo.Utilization)
		}
	}
}

// TestTraceIsTheSame keeps the seed's promise.
func TestTraceIsTheSame(t *testing.T) {
	a, b := newTrace(small(3)), newTrace(small(3))
	for i := range a.jobs {
		if a.jobs[i].Key != b.jobs[i].Key || a.jobs[i].run != b.jobs[i].run || a.jobs[i].arrival != b.jobs[i].arrival {
			t.Fatalf("benchmark %d differs", i)
		}
	}
}

// TestNoBedIsGivenTwice looks at every run of every policy.
func TestNoBedIsGivenTwice(t *testing.T) {
	for _, p := range Policies() {
		l := run(p, small(5))
		last := map[string]*job{}
		for _, j := range l.trace.jobs {
			if j.start < j.arrival || j.end != j.start+j.run {
				t.Fatalf("%s: benchmark %s came at %s, and ran from %s until %s", p, j.Key, j.arrival, j.start, j.end)
			}
			for _, s := range l.trace.beds[j.bed].Reserved {
				if s.From.Before(begin.Add(j.end)) && s.Until.After(begin.Add(j.start)) && j.run <= j.Hold {
					t.Fatalf("%s: benchmark %s has bed %s in a reservation", p, j.Key, j.bed)
				}
			}
		}
		byStart(l.trace.jobs)
		for _, j := range l.trace.jobs {
			if before := last[j.bed]; before != nil && before.end > j.start {
				t.Fatalf("%s: %s and %s have bed %s", p, before.Key, j.Key, j.bed)
			}
			last[j.bed] = j
		}
	}
}

func byStart(jobs []*job) {
	slices.SortStableFunc(jobs, func(a, b *job) int { return cmp.Compare(a.start, b.start) })
}
