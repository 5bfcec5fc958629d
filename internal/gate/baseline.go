package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/result"
	"nodrop.dev/nodrop/internal/trend"
)

// Baseline is what a gate compares with, as it was when the gate was judged: an input of the
// benchmark, which is kept with its result.
type Baseline struct {
	// Of says what it is.
	Of BaselineIdentity `json:"of"`
	// Missing says why there is none; empty where there is one.
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
	// time at which the run began; of a trend, its newest run.
	Time *metav1.Time `json:"time,omitempty"`
	// testBed that was used.
	TestBed string `json:"testBed,omitempty"`
	// device describes the device under test.
	Device string `json:"device,omitempty"`
	// runs of the history of a trend; absent for a single result.
	Runs int32 `json:"runs,omitempty"`
}

// BaselineFigure is the figure of a row.
type BaselineFigure struct {
	v1alpha1.RowID `json:",inline"`
	// Value of the metric.
	Value int64 `json:"value"`
	// Validity of the row.
	Validity v1alpha1.Validity `json:"validity"`
	// Unusable says why nothing can be compared with it; empty when it can.
	Unusable string `json:"unusable,omitempty"`
}

// Run is one result as far as gates compare with it.
type Run struct {
	Of     BaselineIdentity
	Device v1alpha1.Device
	Rows   []v1alpha1.ResultRow
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
		f.Value, f.Unusable = metric.Value(row)
		if !result.Conclusive(run.Device, row) {
			f.Unusable = "it is " + string(row.Validity)
		}
		all = append(all, f)
	}
	return all
}

// History collects the figures of a gate over many runs.
type History struct {
	gate *v1alpha1.Gate
	test *v1alpha1.Test
	runs []historyRun
}

type historyRun struct {
	of      BaselineIdentity
	figures []BaselineFigure
}

// NewHistory begins the history of a gate.
func NewHistory(g *v1alpha1.Gate, test *v1alpha1.Test) *History { return &History{gate: g, test: test} }

// Add adds a run, in any order. It keeps the figures only.
func (h *History) Add(run Run) {
	h.runs = append(h.runs, historyRun{run.Of, figures(h.gate, h.test, run)})
}

// Baseline is the level of each figure: the median of its values since the last change.
func (h *History) Baseline() Baseline {
	if len(h.runs) == 0 {
		return Baseline{Missing: "the history has no run that measured the same"}
	}
	began := func(r historyRun) int64 {
		if r.of.Time == nil {
			return 0
		}
		return r.of.Time.Unix()
	}
	slices.SortStableFunc(h.runs, func(a, b historyRun) int {
		return cmp.Or(cmp.Compare(began(a), began(b)), cmp.Compare(a.of.UID, b.of.UID))
	})
	b := Baseline{Of: h.runs[len(h.runs)-1].of}
	b.Of.UID, b.Of.Runs = "", int32(len(h.runs))
	type series struct {
		values []float64
		newest BaselineFigure
	}
	var order []v1alpha1.RowID
	all := map[v1alpha1.RowID]*series{}
	for _, r := range h.runs {
		for _, f := range r.figures {
			s := all[f.RowID]
			if s == nil {
				s = &series{}
				all[f.RowID] = s
				order = append(order, f.RowID)
			}
			switch {
			case f.Unusable != "" && len(s.values) > 0:
				continue
			case f.Validity != s.newest.Validity:
				s.values = nil // What was measured otherwise is no history of this.
			}
			s.newest = f
			if f.Unusable == "" {
				s.values = append(s.values, float64(f.Value))
			}
		}
	}
	least := int(h.gate.Relative.Baseline.Trend.MinRuns)
	for _, id := range order {
		f := all[id].newest
		if values := all[id].values; len(values) > 0 {
			if changes := trend.Changes(values); len(changes) > 0 {
				values = values[changes[len(changes)-1]:]
			}
			f.Value = int64(math.Round(trend.Median(values)))
			if n := len(values); n < least {
				f.Unusable = fmt.Sprintf("the history has %d of %d runs at this level (minRuns)", n, least)
			}
		}
		b.Figures = append(b.Figures, f)
	}
	return b
}

// figure of a row in the baseline.
func (b *Baseline) figure(id v1alpha1.RowID) (BaselineFigure, bool) {
	i := slices.IndexFunc(b.Figures, func(f BaselineFigure) bool { return f.RowID == id })
	if i < 0 {
		return BaselineFigure{}, false
	}
	return b.Figures[i], true
}

// unusable says why a row cannot be compared with the baseline; the reason is empty when it
// can.
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
