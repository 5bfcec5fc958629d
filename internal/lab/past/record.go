package past

import (
	"maps"
	"slices"
	"time"
)

// remembered is the number of runs that are kept for one kind of work, and for each bed.
const remembered = 7

// Run is one benchmark that ended.
type Run struct {
	// Work identifies what it measured: two runs of the same work take about as long.
	Work string
	// Like identifies the same measurements of every team; empty if that is not known.
	Like string
	// Bed that it had.
	Bed string
	// Created is the time since which it waited, and From and Until are the times between which it
	// had the bed at last.
	Created, From, Until time.Time
	// Length is the time for which it had a bed; more than from From until Until if it was preempted.
	Length time.Duration
	// Cut reports whether it ended before all was measured, so that its length is not typical.
	Cut bool
}

// Record keeps the last runs of each kind of work, also by bed, and of each bed. It is not safe for
// concurrent use.
type Record struct {
	works, likes, places, beds map[string]runs
}

// NewRecord returns an empty record.
func NewRecord() *Record {
	return &Record{works: map[string]runs{}, likes: map[string]runs{}, places: map[string]runs{}, beds: map[string]runs{}}
}

// runs are the last ones, in the order of their ends.
type runs []Run

// Add adds a run. Runs may be added in any order.
func (r *Record) Add(run Run) {
	add(r.beds, run.Bed, run)
	if !run.Cut {
		add(r.works, run.Work, run)
		if run.Like != "" {
			add(r.likes, run.Like, run)
		}
		add(r.places, place(run.Work, run.Bed), run)
	}
}

func add(to map[string]runs, key string, run Run) {
	all := to[key]
	i, _ := slices.BinarySearchFunc(all, run, func(a, b Run) int { return a.Until.Compare(b.Until) })
	all = slices.Insert(all, i, run)
	to[key] = all[max(len(all)-remembered, 0):]
}

// place identifies a kind of work on a bed.
func place(work, bed string) string { return bed + "\n" + work }

// Forget removes what ended last before a time.
func (r *Record) Forget(before time.Time) {
	for _, all := range []map[string]runs{r.works, r.likes, r.places, r.beds} {
		maps.DeleteFunc(all, func(_ string, of runs) bool { return of[len(of)-1].Until.Before(before) })
	}
}

// enough is the number of runs on a bed from which on those on other beds are left out.
const enough = 3

// Length returns the time for which a benchmark is expected to have a bed, from the last ones of the
// same work: those on this bed if they are enough, or else on all beds. If there was none, it follows from the
// last ones that measured the same for other teams; 0 if there was none either.
func (r *Record) Length(work, like, bed string) time.Duration {
	all := r.places[place(work, bed)]
	if len(all) < enough {
		all = r.works[work]
	}
	if len(all) == 0 {
		all = r.likes[like]
	}
	return Typical(all.lengths())
}

// Average returns the average time for which benchmarks have some beds, whatever they measure; 0 if
// none has ended. Held is the time for which the current ones have had them. It counts as well,
// since the first ones to end are the short ones.
func (r *Record) Average(some func(bed string) bool, held time.Duration) time.Duration {
	sum, n := held, 0
	for bed, all := range r.beds {
		if !some(bed) {
			continue
		}
		for _, length := range all.lengths() {
			sum, n = sum+length, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// Turnover returns the time from the end of one benchmark until the next one has its bed, if that
// waits for it already.
func (r *Record) Turnover() time.Duration {
	var gaps []time.Duration
	for _, all := range r.beds {
		for i := range all[1:] {
			before, next := &all[i], &all[i+1]
			if gap := next.From.Sub(before.Until); gap >= 0 && !next.Created.After(before.Until) {
				gaps = append(gaps, gap)
			}
		}
	}
	return Typical(gaps)
}

func (all runs) lengths() []time.Duration {
	var lengths []time.Duration
	for i := range all {
		if !all[i].Cut {
			lengths = append(lengths, all[i].Length)
		}
	}
	return lengths
}

// Typical returns the mean of durations without the shortest and the longest quarter; 0 without any.
// An outlier does not matter, and errors of times in whole seconds cancel out, unlike in the median.
func Typical(durations []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	middle := sorted[len(sorted)/4 : len(sorted)-len(sorted)/4]
	var sum time.Duration
	for _, d := range middle {
		sum += d
	}
	return sum / time.Duration(max(len(middle), 1))
}

// Left returns the remaining time for which a benchmark is expected to have its bed. One that is late is
// expected to take as much longer again, and a tenth of its time at least.
func Left(expected, had time.Duration) time.Duration {
	if left := expected - had; left > 0 {
		return left
	}
	return max(had-expected, expected/10)
}
