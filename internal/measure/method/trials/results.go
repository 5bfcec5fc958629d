package trials

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// Results contains what the run has found so far, for the steps that build on it.
type Results struct {
	// plan has the frame sizes of the rows.
	plan plan.Plan
	// Found throughput, in parts per million of line rate.
	Found map[Found]int64
	// Rows that are finished, in their order.
	Rows []v1alpha1.ResultRow
	// Hints of what the device can do, from outside of the benchmark.
	Hints []search.Hint
	// Partial contains the partial drop rates that the search of a throughput also found.
	Partial map[Partial]Outcome
}

// Found identifies a load that a test found: its test, the frame size, and the repetition, which
// is 0 if the test is measured once.
type Found struct {
	Test       string
	Size       plan.Size
	Repetition int32
}

// Partial names a partial drop rate.
type Partial struct {
	Test         string
	Size         plan.Size
	LossRatioPPM int64
	Repetition   int32
}

// PartialOf names the partial drop rate of a step with a loss ratio in parts per million.
func PartialOf(step plan.Step, ratio int64) Partial {
	return Partial{Test: step.Test.Name, Size: step.Size, LossRatioPPM: ratio, Repetition: step.Repetition}
}

func newResults(p plan.Plan) *Results {
	return &Results{plan: p, Found: map[Found]int64{}, Partial: map[Partial]Outcome{}}
}

// AddHints adds assumptions about the device, for searches that begin there.
func (r *Results) AddHints(hints ...search.Hint) { r.Hints = append(r.Hints, hints...) }

// Keep keeps a finished row, measured now or before the run was resumed, for steps that build on
// it. Rows of other variants of the device are left out: what was found with one is not known of
// another. Throughput reports whether the row tells the load throughput of its test.
func (r *Results) Keep(row v1alpha1.ResultRow, throughput bool) {
	r.Rows = append(r.Rows, row)
	if throughput {
		r.Found[Found{row.Test, r.plan.SizeOf(row), row.Repetition}] = row.Frames.OrZero().LineRatePPM
	}
}

// Before are the finished rows of the step's own test at its frame size, in its repetition.
func (r *Results) Before(step plan.Step) []v1alpha1.ResultRow {
	var rows []v1alpha1.ResultRow
	for _, row := range r.Rows {
		if row.Test == step.Test.Name && row.Variant == step.Variant && row.Repetition == step.Repetition && r.plan.SizeOf(row) == step.Size {
			rows = append(rows, row)
		}
	}
	return rows
}

// ThroughputBefore returns the throughput that the nearest throughput test before the step
// found at its frame size, in parts per million of line rate, and whether it is known. If that
// test was repeated, it is the median, and of an even number the lower one in the middle.
func (r *Results) ThroughputBefore(step plan.Step) (ppm int64, known bool) {
	var all []int64
	for f, found := range r.Found {
		if f.Test == step.Source && f.Size == step.Size {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], true
}

// Load is the load of a step. When the load throughput was found to be 0, there is
// nothing to measure, and the message says so.
func (r *Results) Load(step plan.Step) (load plan.Amount, message string, err error) {
	if step.Load != v1alpha1.LoadThroughput {
		return step.Amount, "", nil
	}
	ppm, known := r.ThroughputBefore(step)
	if !known {
		return load, "", fmt.Errorf("test %s has no result for %s that the load throughput could mean", step.Source, step.Size.InWords())
	}
	if ppm == 0 {
		message = fmt.Sprintf("not measured: test %s found a throughput of 0 at %s", step.Source, step.Size.InWords())
	}
	return plan.Share(ppm), message, nil
}
