package allocation

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// spreadOf returns the median and the 90th percentile of the relative errors of expected starts.
func spreadOf(all []labError) (median, p90 float64) {
	errors := make([]float64, 0, len(all))
	for _, e := range all {
		errors = append(errors, math.Abs(float64(e.late)/float64(e.wait)))
	}
	slices.Sort(errors)
	return errors[len(errors)/2], errors[len(errors)*9/10]
}

// newSimulatedEstimates returns a lab with 400 benchmarks on 20 beds, like those that TestMeasureEstimates
// measures in real time: with durations of 10 s, or of 4 to 16 s by what benchmarks measure. Beds are returned
// as fast as by an operator on a machine without other work.
func newSimulatedEstimates(policy, mixed bool, seed int) *simulatedLab {
	l := &simulatedLab{benchmarks: 400, beds: 20, teams: 4, policy: policy, mixed: mixed}
	l.run = func(i int) time.Duration {
		if mixed {
			return 300*time.Millisecond + time.Duration(float64(1+i/4%4)*(3.6+0.8*fraction("run", i, seed))*float64(time.Second))
		}
		return 10*time.Second + time.Duration(fraction("run", i, seed)*float64(500*time.Millisecond))
	}
	l.turnover = func(i int) time.Duration {
		return 100*time.Millisecond + time.Duration(fraction("turnover", i, seed)*float64(400*time.Millisecond))
	}
	return l
}

// TestEstimatesOfTheOperator compares expected starts with the decisions of the operator, which are made in simulated
// time: with its order of teams, the times of leases in whole seconds, the beds that are about to be returned, and
// standings as old as those in the status of the LabPolicy. With a LabPolicy, a benchmark that names its bed starts when
// the bed is free while its team is due. That moment is hard to predict, and so are starts after a decision that gives several beds.
func TestEstimatesOfTheOperator(t *testing.T) {
	for _, tc := range []struct {
		policy, mixed bool
		// tick is the interval of decisions; 0 if each event is followed by one.
		tick        time.Duration
		median, p90 float64
	}{
		{policy: false, mixed: false, median: 0.1, p90: 0.3},
		{policy: false, mixed: true, median: 0.1, p90: 0.3},
		{policy: true, mixed: false, median: 0.1, p90: 0.3},
		{policy: true, mixed: true, median: 0.1, p90: 0.3},
		{policy: true, mixed: true, tick: 100 * time.Millisecond, median: 0.1, p90: 0.45},
	} {
		t.Run(fmt.Sprintf("policy=%v,mixed=%v,tick=%v", tc.policy, tc.mixed, tc.tick), func(t *testing.T) {
			t.Parallel()
			var all []labError
			for seed := range 4 {
				l := newSimulatedEstimates(tc.policy, tc.mixed, seed)
				l.tick = tc.tick
				all = append(all, l.errors(t, 10*time.Second, 0.1, 0.3, 0.5)...)
			}
			median, p90 := spreadOf(all)
			t.Logf("%d expected starts, median error %.1f %%, 90th percentile %.1f %%", len(all), 100*median, 100*p90)
			if median > tc.median || p90 > tc.p90 {
				t.Errorf("more than %.0f %% and %.0f %%", 100*tc.median, 100*tc.p90)
			}
		})
	}
}
