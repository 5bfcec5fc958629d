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
// standings as old as those in the status of the LabPolicy.
func TestEstimatesOfTheOperator(t *testing.T) {
	for _, tc := range []struct {
		policy, mixed bool
		// tick is the interval of decisions; 0 if each event is followed by one.
		tick time.Duration
	}{
		{policy: false, mixed: false},
		{policy: false, mixed: true},
		{policy: true, mixed: false},
		{policy: true, mixed: true},
		{policy: true, mixed: false, tick: 100 * time.Millisecond},
		{policy: true, mixed: true, tick: 100 * time.Millisecond},
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
			if median > 0.1 || p90 > 0.3 {
				t.Error("want a median error of at most 10 %, and 90 % within 30 %")
			}
		})
	}
}

// deviations runs the lab, and returns by how much the bed time of each team differs from its share by weight, as a part of that
// share, in windows of a minute in which all teams have benchmarks waiting. Windows begin every 10 s.
func (l *simulatedLab) deviations() []float64 {
	l.begin()
	for l.step() {
	}
	lastOf := make([]time.Time, l.teams)
	for i, at := range l.starts {
		if at.After(lastOf[i%l.teams]) {
			lastOf[i%l.teams] = at
		}
	}
	const window = time.Minute
	until := slices.MinFunc(lastOf, time.Time.Compare)
	var all []float64
	for from := simulatedBegin.Add(20 * time.Second); !from.Add(window).After(until); from = from.Add(10 * time.Second) {
		had, sum := make([]time.Duration, l.teams), time.Duration(0)
		for i, at := range l.starts {
			begin, end := max(at.Sub(from), 0), min(at.Add(l.run(i)).Sub(from), window)
			if end > begin {
				had[i%l.teams] += end - begin
				sum += end - begin
			}
		}
		for team, d := range had {
			weight, weights := 1+team, l.teams*(l.teams+1)/2
			all = append(all, math.Abs(float64(d)/(float64(sum)*float64(weight)/float64(weights))-1))
		}
	}
	slices.Sort(all)
	return all
}

// TestSharesOfTheOperator compares the bed time of teams with their shares in simulated time, over windows of a few benchmarks only.
func TestSharesOfTheOperator(t *testing.T) {
	for _, tick := range []time.Duration{0, 100 * time.Millisecond} {
		for _, mixed := range []bool{false, true} {
			t.Run(fmt.Sprintf("mixed=%v,tick=%v", mixed, tick), func(t *testing.T) {
				t.Parallel()
				l := newSimulatedEstimates(true, mixed, 1)
				l.tick, l.benchmarks = tick, 1000
				all := l.deviations()
				p95, worst := all[len(all)*95/100], all[len(all)-1]
				t.Logf("%d shares of teams in windows: 95 %% within %.1f %%, worst %.1f %%", len(all), 100*p95, 100*worst)
				if len(all) < 60 || p95 > 0.2 || worst > 0.4 {
					t.Error("want 95 % of the windows within 20 %, and all within 40 %")
				}
			})
		}
	}
}
