package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// MaxBytes bounds the trials of one row, as JSON: a part of a result holds 120 KiB.
	MaxBytes = 24 << 10
	// MaxParts is the number of ports that a record lists.
	MaxParts = 48
	// maxTrials is the number of trials that the API accepts in one row.
	maxTrials = 512
	// maxBuckets is the number of pairs that a list of latency buckets may have.
	maxBuckets = 2240
)

// Log collects the trials of one row.
type Log struct{ trials []*v1alpha1.TrialRecord }

// Add numbers a trial and adds it. The returned record may be changed until Compact.
func (l *Log) Add(r v1alpha1.TrialRecord) *v1alpha1.TrialRecord {
	r.Number = int32(len(l.trials) + 1)
	l.trials = append(l.trials, &r)
	return &r
}

// Since returns the trials that were added after the first n.
func (l *Log) Since(n int) []*v1alpha1.TrialRecord { return l.trials[min(n, len(l.trials)):] }

// Len returns the number of trials.
func (l *Log) Len() int { return len(l.trials) }

// Copy adds a trial of another row as it is, with its number there, unless the log has it.
func (l *Log) Copy(r *v1alpha1.TrialRecord) {
	if !slices.Contains(l.trials, r) {
		l.trials = append(l.trials, r)
	}
}

// Compact returns the trials of a row that took so long. It leaves out trials that are too many,
// the oldest first, but none that decided the row and none at the loads that the row names.
func (l *Log) Compact(elapsed time.Duration, loads ...int64) (*v1alpha1.TrialLog, error) {
	if len(l.trials) == 0 {
		return nil, nil
	}
	out := &v1alpha1.TrialLog{ElapsedNs: elapsed.Nanoseconds()}
	order, best := make([]int, 0, len(l.trials)), l.longest()
	named := func(r *v1alpha1.TrialRecord) bool {
		return r.Decides || r.Limits || best[r] || r.LoadPPM > 0 && r.Tried == 0 && len(loads) > 0 && slices.Contains(loads, r.LoadPPM)
	}
	for i := range l.trials { // the most important first
		if named(l.trials[i]) {
			order = append(order, i)
		}
	}
	for i := len(l.trials) - 1; i >= 0; i-- {
		if !named(l.trials[i]) {
			order = append(order, i)
		}
	}
	keep := make([]bool, len(l.trials))
	total, full := 0, false
	for n, i := range order {
		r := l.trials[i]
		text, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encoding trial %d: %w", r.Number, err)
		}
		if len(text) > MaxBytes/2 {
			dropBuckets(r)
			if text, err = json.Marshal(r); err != nil {
				return nil, fmt.Errorf("encoding trial %d: %w", r.Number, err)
			}
		}
		full = full || n >= maxTrials || n > 0 && total+len(text) > MaxBytes
		if !full {
			keep[i], total = true, total+len(text)+1
		}
	}
	var figures Figures
	for i, r := range l.trials {
		if keep[i] {
			out.Trials = append(out.Trials, *r.DeepCopy())
			continue
		}
		out.Omitted++
		out.OmittedSendingNs += min(r.SendingNs, r.DurationNs)
		for _, f := range r.Figures {
			figures.merge(f)
		}
		if r.Stale > 0 {
			figures.Add("stale", r.Stale)
		}
	}
	out.OmittedFigures = figures
	return out, nil
}

// longest returns, for each repetition of a method that varies something else than the load, the
// trial of the greatest value without loss.
func (l *Log) longest() map[*v1alpha1.TrialRecord]bool {
	best := map[int32]*v1alpha1.TrialRecord{}
	for _, r := range l.trials {
		if known := best[r.Repetition]; r.Repetition > 0 && r.Tried > 0 && r.Lost == 0 && r.Excess == 0 && r.Verdict != v1alpha1.TrialVoid && (known == nil || r.Tried > known.Tried) {
			best[r.Repetition] = r
		}
	}
	all := map[*v1alpha1.TrialRecord]bool{}
	for _, r := range best {
		all[r] = true
	}
	return all
}

// dropBuckets leaves out the buckets of the parts of a trial, and then its own.
func dropBuckets(r *v1alpha1.TrialRecord) {
	for i := range r.Parts {
		if r.Parts[i].Latency != nil {
			r.Parts[i].Latency.Buckets = nil
		}
	}
	if r.Latency != nil && len(r.Latency.Buckets) > 2*maxBuckets {
		r.Latency.Buckets = nil
	}
}

// Buckets returns counts by bucket as pairs: by how much a bucket is above the one before, and
// what it counts. Buckets that count nothing are absent.
func Buckets(counts []uint64) (pairs []int64) {
	last := 0
	for i, n := range counts {
		if n > 0 {
			pairs = append(pairs, int64(i-last), int64(n))
			last = i
		}
	}
	return pairs
}

// Figures are figures of a trial by their names.
type Figures []v1alpha1.TrialFigure

// Add adds a value of a figure.
func (f *Figures) Add(name string, value int64) {
	f.merge(v1alpha1.TrialFigure{Name: name, Count: 1, Sum: value, Min: value, Max: value})
}

// AddFigure adds a value of a figure to the record of a trial.
func AddFigure(r *v1alpha1.TrialRecord, name string, value int64) {
	(*Figures)(&r.Figures).Add(name, value)
}

func (f *Figures) merge(one v1alpha1.TrialFigure) {
	i := slices.IndexFunc(*f, func(known v1alpha1.TrialFigure) bool { return known.Name == one.Name })
	if i < 0 {
		*f = append(*f, one)
		return
	}
	known := &(*f)[i]
	known.Count, known.Sum, known.Min, known.Max = known.Count+one.Count, known.Sum+one.Sum, min(known.Min, one.Min), max(known.Max, one.Max)
}
