package labsim

import (
	"math"
	"slices"
	"time"
)

// Report contains the results of a policy for a trace.
type Report struct {
	Policy Policy
	// Benchmarks that ended, in how much simulated time.
	Benchmarks int
	Length     time.Duration
	// Utilization is the share of the bed time that was used until the last one began.
	Utilization float64
	// Windows in which a team had benchmarks waiting all the time, and Within the share
	// of them in which it has had what it was due within 5 %.
	Windows int
	Within  float64
	// Worst is the largest deviation from what was due in a window, Deviation95 the one
	// that 95 % of the windows do not exceed, as shares.
	Worst, Deviation95 float64
	// Wait is the median wait, WaitMax the longest.
	Wait, WaitMax time.Duration
	// OverFair is the longest wait over its fair wait: how much later a benchmark began
	// than its team would have come to it with exactly what it was due, as a multiple of
	// that time. The time in which reservations kept it from all of its beds is left out, and
	// waits below half an hour count as half an hour.
	OverFair float64
	// Decisions per second of processor time, in leases, and how long the slowest 1 %
	// took at least.
	AdmissionsPerSecond float64
	DecisionP99         time.Duration
}

// Simulate runs a policy on the trace of a configuration.
func Simulate(p Policy, c Config) Report {
	l := run(p, c)
	return l.report(p)
}

// report returns the results of a policy, once every benchmark has ended.
func (l *simulation) report(p Policy) Report {
	r := Report{Policy: p, Benchmarks: len(l.trace.jobs), Length: l.now}
	var waits []time.Duration
	var used, lastStart time.Duration
	for _, j := range l.trace.jobs {
		waits = append(waits, j.start-j.arrival)
		used += j.run
		lastStart = max(lastStart, j.start)
	}
	slices.Sort(waits)
	r.Wait, r.WaitMax = waits[len(waits)/2], waits[len(waits)-1]
	for _, j := range l.trace.jobs {
		used -= max(j.end-lastStart, 0)
	}
	r.Utilization = float64(used) / (float64(lastStart) * float64(len(l.trace.beds)))
	all := l.watch.deviations()
	r.Windows = len(all)
	size := make([]float64, len(all))
	within := 0
	for i, d := range all {
		size[i] = math.Abs(d)
		if size[i] <= 0.05 {
			within++
		}
	}
	slices.Sort(size)
	if len(size) > 0 {
		r.Within = float64(within) / float64(len(size))
		r.Worst, r.Deviation95 = size[len(size)-1], size[len(size)*95/100]
	}
	r.OverFair = l.overFair()
	var sum time.Duration
	for _, d := range l.spent {
		sum += d
	}
	slices.Sort(l.spent)
	r.AdmissionsPerSecond = float64(r.Benchmarks) / sum.Seconds()
	r.DecisionP99 = l.spent[len(l.spent)*99/100]
	return r
}

// overFair is the longest wait over its fair wait.
func (l *simulation) overFair() float64 {
	worst := 0.0
	byTeam := map[string][]*job{}
	for _, j := range l.trace.jobs {
		byTeam[j.Team] = append(byTeam[j.Team], j)
	}
	for team, jobs := range byTeam {
		r := l.watch.teams[team]
		for _, j := range jobs {
			var work time.Duration
			for _, other := range jobs {
				switch {
				case other == j || other.arrival > j.arrival || other.end <= j.arrival && other.start >= 0:
				case other.start <= j.arrival:
					work += other.end - j.arrival
				case before(other, j):
					work += other.run
				}
			}
			goal := r.of(r.due, j.arrival) + work
			at, _ := slices.BinarySearch(r.due, goal)
			fair := r.at[min(at, len(r.at)-1)] - j.arrival
			wait := j.start - j.arrival - l.watch.kept[j]
			worst = max(worst, float64(max(wait, floor))/float64(max(fair, floor)))
		}
	}
	return worst
}

// floor is the minimum wait in the comparison of waiting times; shorter waits count as this.
const floor = 30 * time.Minute

// before reports whether a benchmark comes before another one of its team.
func before(a, b *job) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return a.arrival < b.arrival
}
