package gate

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/result"
)

// Baseline contains the figures that a gate compares with, as they were when the gate was
// judged: an input of the benchmark, which is kept with its result.
type Baseline struct {
	// Of identifies the baseline.
	Of BaselineIdentity `json:"of"`
	// Missing is the reason why there is no baseline; empty if there is one.
	Missing string `json:"missing,omitempty"`
	// Figures of the rows that the gate chooses.
	Figures []BaselineFigure `json:"figures,omitempty"`
}

// BaselineIdentity names a baseline.
type BaselineIdentity struct {
	// benchmark is the name of the benchmark that measured.
	Benchmark string `json:"benchmark"`
	// uid of the benchmark; absent when it ran without a cluster, and for a trend.
	UID string `json:"uid,omitempty"`
	// time at which the run began; of a trend, the newest run of the baseline.
	Time *metav1.Time `json:"time,omitempty"`
	// testBed that was used.
	TestBed string `json:"testBed,omitempty"`
	// device describes the device under test.
	Device string `json:"device,omitempty"`
	// runs of the history that make the baseline of a trend; absent for a single result.
	Runs int32 `json:"runs,omitempty"`
	// from is the time at which the oldest of the runs of a trend began. Results with it
	// have a baseline that only an acceptance changes.
	From *metav1.Time `json:"from,omitempty"`
	// accepted contains who accepted the level of a trend, when and why; absent if the first
	// runs of the history are the baseline.
	Accepted *v1alpha1.BaselineAcceptance `json:"accepted,omitempty"`
}

// BaselineFigure is the figure of a row.
type BaselineFigure struct {
	v1alpha1.RowID `json:",inline"`
	// Value of the metric.
	Value int64 `json:"value"`
	// Low and High bound the value of a repeated row; absent for others.
	Low  *int64 `json:"low,omitempty"`
	High *int64 `json:"high,omitempty"`
	// Validity of the row.
	Validity v1alpha1.Validity `json:"validity"`
	// Unusable is the reason why nothing can be compared with it; empty if it can be
	// compared.
	Unusable string `json:"unusable,omitempty"`
}

// Run is one result as far as gates compare with it.
type Run struct {
	Of     BaselineIdentity
	Device v1alpha1.Device
	Rows   []v1alpha1.ResultRow
	// Gates of the result as they were written, and as they were judged.
	Gates  []v1alpha1.Gate
	Judged []JudgedGate
}

// FromRun is the baseline of a gate that is one result.
func FromRun(g *v1alpha1.Gate, test *v1alpha1.Test, run Run) Baseline {
	return Baseline{Of: run.Of, Figures: figures(g, test, run)}
}

// figures of the rows of a run that a gate chooses.
func figures(g *v1alpha1.Gate, test *v1alpha1.Test, run Run) []BaselineFigure {
	metric, ok := metricOf(test, g.Metric)
	if !ok {
		return nil
	}
	var all []BaselineFigure
	for i := range run.Rows {
		row := &run.Rows[i]
		if !chooses(g, row.RowID) {
			continue
		}
		f := BaselineFigure{RowID: row.RowID, Validity: row.Validity}
		value, why := metric.known(row)
		if f.Value, f.Unusable = value.Value, why; value.Repetitions > 0 {
			f.Low, f.High = &value.Low, &value.High
		}
		if !result.Conclusive(run.Device, row) {
			f.Unusable = "it is " + string(row.Validity)
		}
		all = append(all, f)
	}
	return all
}

// figure of a row in the baseline.
func (b *Baseline) figure(id v1alpha1.RowID) (BaselineFigure, bool) {
	i := slices.IndexFunc(b.Figures, func(f BaselineFigure) bool { return f.RowID == id })
	if i < 0 {
		return BaselineFigure{}, false
	}
	return b.Figures[i], true
}

// unusable returns the reason why a row cannot be compared with the baseline; the reason is
// empty if it can.
func (b *Baseline) unusable(row *v1alpha1.ResultRow) (Reason, string) {
	if b.Missing != "" {
		return NoBaseline, b.Missing
	}
	f, ok := b.figure(row.RowID)
	switch {
	case !ok:
		return NoBaseline, fmt.Sprintf("the baseline %s has no such row", b.Of.Benchmark)
	case f.Unusable != "":
		return NoBaseline, fmt.Sprintf("the row of the baseline %s cannot be compared with: %s", b.Of.Benchmark, f.Unusable)
	case f.Validity != row.Validity:
		return BaselineDiffers, fmt.Sprintf("the row is %s, and that of the baseline %s is %s", row.Validity, b.Of.Benchmark, f.Validity)
	}
	return "", ""
}
