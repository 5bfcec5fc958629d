package gate

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/result"
)

// Input contains the data by which gates are judged.
type Input struct {
	// Spec of the benchmark, with its gates and tests.
	Spec *v1alpha1.BenchmarkSpec
	// Device that was measured: without one the tester is.
	Device v1alpha1.Device
	// Rows that were measured.
	Rows []v1alpha1.ResultRow
	// Baselines by the name of the gate; of a gate that has none nothing can be said.
	Baselines map[string]Baseline
	// Unfinished is the reason why not all rows were measured; empty if they were.
	Unfinished string
}

// Judge judges all gates; nil when there is none. The order of the rows does not matter to any
// verdict.
func Judge(in Input) *Judgement {
	if len(in.Spec.Gates) == 0 {
		return nil
	}
	j := &Judgement{Verdict: v1alpha1.GatePassed}
	for i := range in.Spec.Gates {
		r := in.judge(&in.Spec.Gates[i])
		j.Gates = append(j.Gates, r)
		j.Verdict = worse(j.Verdict, r.Verdict)
	}
	return j
}

// worse is Failed when one of two verdicts is, and otherwise Inconclusive when one is.
func worse(a, b v1alpha1.GateVerdict) v1alpha1.GateVerdict {
	for _, v := range []v1alpha1.GateVerdict{v1alpha1.GateFailed, v1alpha1.GateInconclusive} {
		if a == v || b == v {
			return v
		}
	}
	return v1alpha1.GatePassed
}

// judge judges one gate.
func (in Input) judge(g *v1alpha1.Gate) JudgedGate {
	r := JudgedGate{Name: g.Name, Test: g.Test, Metric: g.Metric, Verdict: v1alpha1.GateInconclusive, Rows: []JudgedRow{}}
	test := in.Spec.Test(g.Test)
	if test == nil {
		r.Reason, r.Message = Invalid, fmt.Sprintf("the benchmark has no test %q", g.Test)
		return r
	}
	metric, ok := metricOf(test, g.Metric)
	if !ok {
		r.Reason, r.Message = Invalid, fmt.Sprintf("test %s has no metric %q", g.Test, g.Metric)
		return r
	}
	r.Unit = metric.Unit.String()
	bounds, err := boundsOf(g, metric.Unit)
	if err != nil {
		r.Reason, r.Message = Invalid, err.Error()
		return r
	}
	var baseline *Baseline
	if g.Relative != nil {
		known, ok := in.Baselines[g.Name]
		if !ok {
			known.Missing = "there is no baseline"
		}
		baseline = &known
		if known.Missing == "" {
			r.Baseline = &known.Of
		}
	}
	for k := range in.Rows {
		if row := &in.Rows[k]; chooses(g, row.RowID) {
			r.Rows = append(r.Rows, in.row(row, metric, bounds, baseline))
		}
	}
	r.conclude(in.Unfinished)
	return r
}

// conclude gives a gate the verdict of its rows.
func (r *JudgedGate) conclude(unfinished string) {
	r.Verdict = v1alpha1.GatePassed
	for i := range r.Rows {
		r.Verdict = worse(r.Verdict, r.Rows[i].Verdict)
	}
	if r.Verdict == v1alpha1.GateFailed {
		return
	}
	switch {
	case unfinished != "":
		r.Verdict, r.Reason, r.Message = v1alpha1.GateInconclusive, Unfinished, "not every row was measured: "+unfinished
	case len(r.Rows) == 0:
		r.Verdict, r.Reason, r.Message = v1alpha1.GateInconclusive, NoRow, "the test has no row that the gate chooses"
	}
}

// row judges one row.
func (in Input) row(row *v1alpha1.ResultRow, metric Metric, b bounds, baseline *Baseline) JudgedRow {
	r := JudgedRow{RowID: row.RowID, Verdict: v1alpha1.GateInconclusive}
	value, why := metric.known(row)
	if why == "" {
		r.Value = &value.Value
		if value.Repetitions > 0 {
			r.Low, r.High = &value.Low, &value.High
		}
	}
	var before known
	if baseline != nil {
		if f, ok := baseline.figure(row.RowID); ok && f.Unusable == "" {
			r.Baseline = &f.Value
			before = f.known()
		}
	}
	switch {
	case !result.Conclusive(in.Device, row):
		r.Reason = NotConclusive
		r.Message = strings.Join(append([]string{"the row is " + string(row.Validity)}, row.ValidityReasons...), ": ")
		return r
	case why != "":
		r.Reason, r.Message = NotMeasured, why
		return r
	}
	if baseline != nil {
		if r.Reason, r.Message = baseline.unusable(row); r.Reason != "" {
			return r
		}
		return r.relative(value, before, b, metric)
	}
	return r.absolute(value, b, metric)
}

// absolute compares with bounds in the unit of the metric.
func (r JudgedRow) absolute(value known, b bounds, metric Metric) JudgedRow {
	r.Min, r.Max = b.min, b.max
	r.Verdict = v1alpha1.GatePassed
	if b.min != nil {
		r.outside(value, *b.min, value.High < *b.min, value.Low < *b.min, metric, "below "+metric.figure(*b.min))
	}
	if b.max != nil {
		r.outside(value, *b.max, value.Low > *b.max, value.High > *b.max, metric, "above "+metric.figure(*b.max))
	}
	return r
}

// relative compares with the figure of the baseline: exactly, by the product of both with a
// million. Min and max are the whole values nearest to that which pass. Of intervals it compares
// the ends that face each other.
func (r JudgedRow) relative(value, baseline known, b bounds, metric Metric) JudgedRow {
	product := func(n, ppm int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(ppm)) }
	scaled := func(n int64) *big.Int { return product(n, v1alpha1.PPM) }
	r.Verdict = v1alpha1.GatePassed
	if b.decreasePPM != nil {
		share := max(0, v1alpha1.PPM-*b.decreasePPM)
		r.Min = new(ceiling(product(baseline.Value, share), v1alpha1.PPM))
		certain := scaled(value.High).Cmp(product(baseline.Low, share)) < 0
		possible := scaled(value.Low).Cmp(product(baseline.High, share)) < 0
		r.outside(value, *r.Min, certain, possible, metric, fmt.Sprintf("more than %s below %s of the baseline", v1alpha1.FormatPPM(*b.decreasePPM), metric.figure(baseline.Value)))
	}
	if b.increasePPM != nil {
		share := v1alpha1.PPM + *b.increasePPM
		r.Max = new(new(big.Int).Quo(product(baseline.Value, share), big.NewInt(v1alpha1.PPM)).Int64())
		certain := scaled(value.Low).Cmp(product(baseline.High, share)) > 0
		possible := scaled(value.High).Cmp(product(baseline.Low, share)) > 0
		r.outside(value, *r.Max, certain, possible, metric, fmt.Sprintf("more than %s above %s of the baseline", v1alpha1.FormatPPM(*b.increasePPM), metric.figure(baseline.Value)))
	}
	return r
}

// ceiling is n by a divisor above 0, rounded up; n is not negative.
func ceiling(n *big.Int, divisor int64) int64 {
	sum := new(big.Int).Add(n, big.NewInt(divisor-1))
	return sum.Quo(sum, big.NewInt(divisor)).Int64()
}

// chooses reports whether a gate is about a row.
func chooses(g *v1alpha1.Gate, id v1alpha1.RowID) bool {
	ratio := int64(0)
	if g.LossRatio != "" {
		ratio, _ = g.LossRatio.PPM()
	}
	size := g.FrameSizes == nil && g.FrameMixes == nil ||
		id.FrameMix == "" && slices.Contains(g.FrameSizes, id.FrameSize) || id.FrameMix != "" && slices.Contains(g.FrameMixes, id.FrameMix)
	return id.Test == g.Test && id.LossRatioPPM == ratio && size &&
		(g.Variants == nil || slices.Contains(g.Variants, id.Variant)) &&
		(g.Loads == nil || slices.Contains(g.Loads, string(id.Load)))
}

// bounds of a gate in the unit of its metric, or as shares of a baseline.
type bounds struct {
	min, max                 *int64
	decreasePPM, increasePPM *int64
}

// boundsOf reads the bounds of a gate.
func boundsOf(g *v1alpha1.Gate, unit Unit) (b bounds, err error) {
	read := func(text v1alpha1.GateBound, into **int64) {
		if text == "" || err != nil {
			return
		}
		var n int64
		if n, err = unit.Parse(text); err == nil {
			*into = &n
		}
	}
	read(g.Min, &b.min)
	read(g.Max, &b.max)
	share := func(t *v1alpha1.Tolerance, into **int64) {
		if t == nil || err != nil {
			return
		}
		var n int64
		if n, err = t.PPM(); err == nil {
			*into = &n
		}
	}
	if g.Relative != nil {
		share(g.Relative.MaxDecrease, &b.decreasePPM)
		share(g.Relative.MaxIncrease, &b.increasePPM)
	}
	return b, err
}
