package gate

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// known is a figure with the interval in which it lies. Without repetitions the interval is the
// value.
type known struct {
	Value, Low, High int64
	// Repetitions that made the interval; 0 for one measurement.
	Repetitions int
}

// known returns the metric of a row: of a repeated row the median, with its interval. Otherwise
// it returns why the row has none.
func (m Metric) known(row *v1alpha1.ResultRow) (known, string) {
	if f := row.Repeated.Figure(m.Name); f != nil {
		return known{f.Median, f.Low, f.High, len(f.Values)}, ""
	}
	value, why := m.Value(row)
	return known{Value: value, Low: value, High: value}, why
}

// known is the figure of a baseline. Figures of earlier versions have no interval.
func (f BaselineFigure) known() known {
	k := known{Value: f.Value, Low: f.Value, High: f.Value}
	if f.Low != nil && f.High != nil {
		k.Low, k.High = *f.Low, *f.High
	}
	return k
}

// outside judges a value by one of its bounds. It fails if the whole interval is outside of the
// bound for certain, and is inconclusive if only a part may be.
func (r *JudgedRow) outside(value known, bound int64, certain, possible bool, metric Metric, text string) {
	switch {
	case r.Verdict == v1alpha1.GateFailed:
	case certain:
		r.Verdict, r.Reason, r.Message = v1alpha1.GateFailed, OutOfBounds, fmt.Sprintf("%s is %s", metric.figure(value.Value), text)
	case possible:
		r.Verdict, r.Reason = v1alpha1.GateInconclusive, NotSignificant
		r.Message = fmt.Sprintf("%s may be %s: the interval is %s to %s%s", metric.figure(value.Value), text, metric.figure(value.Low), metric.figure(value.High), value.advice(bound))
	}
}

// advice describes how many repetitions would probably decide whether the value is at one side
// of the bound; empty if no number does.
func (k known) advice(bound int64) string {
	distance := k.Value - bound
	if k.Repetitions == 0 || distance == 0 {
		return ""
	}
	n := compare.RepetitionsFor(k.Repetitions, float64(max(k.High-k.Value, k.Value-k.Low)), float64(distance))
	return fmt.Sprintf("; about %d repetitions would decide it", max(n, int64(k.Repetitions)+1))
}
