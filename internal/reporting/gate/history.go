package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// History finds the baseline of a trend. The first runs of a history make it, and it stays
// until someone accepts another level: neither a drop that lasts nor a slow drift moves it.
type History struct {
	gate *v1alpha1.Gate
	test *v1alpha1.Test
	runs []historyRun
	// accepted is the latest acceptance of the gate and of the runs; nil without any.
	accepted *v1alpha1.BaselineAcceptance
}

type historyRun struct {
	of      BaselineIdentity
	figures []BaselineFigure
	// judged contains the figures that the run was compared with, and baseline identifies
	// their runs. Both are empty where the run had no fixed baseline.
	judged   []BaselineFigure
	baseline BaselineIdentity
}

// NewHistory begins the history of a gate.
func NewHistory(g *v1alpha1.Gate, test *v1alpha1.Test) *History {
	return &History{gate: g, test: test, accepted: g.Acceptance()}
}

// Add adds a run, in any order. It keeps the figures only.
func (h *History) Add(run Run) {
	one := historyRun{of: run.Of, figures: figures(h.gate, h.test, run)}
	for i := range run.Gates {
		g := &run.Gates[i]
		if !sameRows(g, h.gate) {
			continue
		}
		h.accept(g.Acceptance())
		for k := range run.Judged {
			if j := &run.Judged[k]; j.Name == g.Name && j.Baseline != nil && j.Baseline.From != nil {
				h.accept(j.Baseline.Accepted)
				one.baseline, one.judged = *j.Baseline, comparedWith(j, run.Rows)
			}
		}
	}
	h.runs = append(h.runs, one)
}

// accept takes an acceptance, if it is later than the one in force. The run that had it first
// may be older than the history: later ones name it with their baseline.
func (h *History) accept(a *v1alpha1.BaselineAcceptance) {
	if a != nil && (h.accepted == nil || h.accepted.Time.Before(&a.Time)) {
		h.accepted = a
	}
}

// sameRows reports whether two gates are about one figure of the same rows, whatever their
// names and bounds: a gate that was renamed has the same baseline.
func sameRows(a, b *v1alpha1.Gate) bool {
	return a.Test == b.Test && a.Metric == b.Metric && a.LossRatio == b.LossRatio && slices.Equal(a.Variants, b.Variants) &&
		slices.Equal(a.FrameSizes, b.FrameSizes) && slices.Equal(a.FrameMixes, b.FrameMixes) && slices.Equal(a.Loads, b.Loads)
}

// comparedWith are the figures of a baseline by which rows passed or failed: such a row has
// the validity of the baseline.
func comparedWith(j *JudgedGate, rows []v1alpha1.ResultRow) []BaselineFigure {
	var all []BaselineFigure
	for _, r := range j.Rows {
		i := slices.IndexFunc(rows, func(row v1alpha1.ResultRow) bool { return row.RowID == r.RowID })
		if i >= 0 && r.Baseline != nil && r.Verdict != v1alpha1.GateInconclusive {
			all = append(all, BaselineFigure{RowID: r.RowID, Value: *r.Baseline, Validity: rows[i].Validity})
		}
	}
	return all
}

// Baseline is the level of each figure: the median of its first minRuns values, or of the
// last minRuns values before the latest acceptance. Where an earlier run was compared with
// that level already, it is taken from there: the history need not reach back to the runs
// that made it.
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
	b.Of.UID, b.Of.Time = "", nil
	var order []v1alpha1.RowID
	for _, r := range h.runs {
		for _, f := range r.figures {
			if !slices.Contains(order, f.RowID) {
				order = append(order, f.RowID)
			}
		}
	}
	for _, id := range order {
		f, of := h.kept(id)
		if of.From == nil {
			f, of = h.level(id)
		}
		b.Figures = append(b.Figures, f)
		b.Of.extend(of)
	}
	b.Of.Accepted = h.accepted
	return b
}

// extend makes the runs of another figure a part of the identity.
func (b *BaselineIdentity) extend(of BaselineIdentity) {
	b.Runs = max(b.Runs, of.Runs)
	if of.From != nil && (b.From == nil || of.From.Before(b.From)) {
		b.From = of.From
	}
	if of.Time != nil && (b.Time == nil || b.Time.Before(of.Time)) {
		b.Time = of.Time
	}
}

// kept is the figure that the oldest run with the present acceptance was compared with.
func (h *History) kept(id v1alpha1.RowID) (BaselineFigure, BaselineIdentity) {
	for _, r := range h.runs {
		if !r.baseline.Accepted.Same(h.accepted) {
			continue
		}
		if i := slices.IndexFunc(r.judged, func(f BaselineFigure) bool { return f.RowID == id }); i >= 0 {
			return r.judged[i], r.baseline
		}
	}
	return BaselineFigure{}, BaselineIdentity{}
}

// level is the figure that the history itself shows. Values of another validity are no
// history of it.
func (h *History) level(id v1alpha1.RowID) (BaselineFigure, BaselineIdentity) {
	least := int(h.gate.Relative.Baseline.Trend.MinRuns)
	runs := slices.Clone(h.runs)
	what := "first"
	if h.accepted != nil {
		what = "last before it was accepted"
		runs = slices.DeleteFunc(runs, func(r historyRun) bool { return r.of.Time == nil || h.accepted.Time.Before(r.of.Time) })
		slices.Reverse(runs)
	}
	newest, _ := h.last(id)
	var of BaselineIdentity
	var values []float64
	for i := range runs {
		k := slices.IndexFunc(runs[i].figures, func(f BaselineFigure) bool { return f.RowID == id && f.Unusable == "" })
		if k < 0 || len(values) == least {
			continue
		}
		f := runs[i].figures[k]
		if len(values) == 0 {
			newest = f
		}
		if f.Validity == newest.Validity {
			values = append(values, float64(f.Value))
			of.extend(BaselineIdentity{From: runs[i].of.Time, Time: runs[i].of.Time})
		}
	}
	of.Runs = int32(len(values))
	if len(values) == 0 {
		if newest.Unusable == "" {
			newest.Unusable = "no run before the level was accepted has this figure"
		}
		return newest, of
	}
	newest.Value = int64(math.Round(trend.Median(values)))
	if len(values) < least {
		newest.Unusable = fmt.Sprintf("the history has %d of the %d runs that make the baseline, the %s (minRuns)", len(values), least, what)
	}
	return newest, of
}

// last is the newest figure of a row.
func (h *History) last(id v1alpha1.RowID) (BaselineFigure, bool) {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if k := slices.IndexFunc(h.runs[i].figures, func(f BaselineFigure) bool { return f.RowID == id }); k >= 0 {
			return h.runs[i].figures[k], true
		}
	}
	return BaselineFigure{}, false
}
