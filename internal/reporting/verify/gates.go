package verify

import (
	"fmt"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// gates verifies the verdicts of the gates.
func (v *Verdict) gates(d *report.Document) {
	if d.Gates == nil {
		if len(d.Spec.Gates) > 0 && d.Phase.Measured() {
			v.wrong("gates", "absent", fmt.Sprintf("the verdicts of %d gates", len(d.Spec.Gates)))
		}
		return
	}
	all := v1alpha1.GatePassed
	for i := range d.Gates.Gates {
		g := &d.Gates.Gates[i]
		all = worst(all, v.gate(d, g))
	}
	v.word("gates.verdict", string(d.Gates.Verdict), string(all))
}

// gate verifies one gate, and returns its verdict.
func (v *Verdict) gate(d *report.Document, g *gate.JudgedGate) v1alpha1.GateVerdict {
	at := "gates[" + g.Name + "]."
	i := slices.IndexFunc(d.Spec.Gates, func(s v1alpha1.Gate) bool { return s.Name == g.Name })
	if i < 0 {
		v.wrong(at+"name", g.Name, "the name of a gate of the specification")
		return g.Verdict
	}
	spec := &d.Spec.Gates[i]
	test := d.Spec.Test(spec.Test)
	if test == nil || g.Reason == gate.Invalid {
		return g.Verdict
	}
	definition, _ := method.DescribeTest(*test)
	metrics := gate.Metrics(definition)
	k := slices.IndexFunc(metrics, func(m gate.Metric) bool { return m.Name == spec.Metric })
	if k < 0 {
		return g.Verdict
	}
	want := v1alpha1.GatePassed
	for i := range g.Rows {
		want = worst(want, v.gateRow(d, spec, metrics[k], &g.Rows[i], fmt.Sprintf("%srows[%d].", at, i)))
	}
	if want != v1alpha1.GateFailed && (g.Reason != "" || len(g.Rows) == 0) {
		want = v1alpha1.GateInconclusive
	}
	v.word(at+"verdict", string(g.Verdict), string(want))
	if g.Baseline != nil && g.Baseline.Runs > 0 {
		v.weakly("gates.baseline.runs")
	}
	return want
}

// gateRow verifies the verdict on one row.
func (v *Verdict) gateRow(d *report.Document, g *v1alpha1.Gate, metric gate.Metric, judged *gate.JudgedRow, at string) v1alpha1.GateVerdict {
	i := slices.IndexFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.RowID == judged.RowID })
	if i < 0 {
		v.wrong(at+"name", judged.Name(), "a row of the result")
		return judged.Verdict
	}
	row := &d.Rows[i]
	if judged.Value != nil {
		v.number(at+"value", *judged.Value, gateValue(row, metric))
	}
	var low, high *int64
	switch {
	case g.Relative == nil:
		low, high = bound(metric, g.Min), bound(metric, g.Max)
	case judged.Baseline != nil:
		v.weakly("gates.rows.baseline")
		low, high = relative(*judged.Baseline, g.Relative)
	}
	if !conclusive(d, row) || judged.Value == nil || g.Relative != nil && judged.Baseline == nil || judged.Reason == gate.BaselineDiffers || judged.Reason == gate.NoBaseline {
		v.word(at+"verdict", string(judged.Verdict), string(v1alpha1.GateInconclusive))
		return v1alpha1.GateInconclusive
	}
	v.pointer(at+"min", judged.Min, low)
	v.pointer(at+"max", judged.Max, high)
	want := v1alpha1.GatePassed
	if value := *judged.Value; low != nil && value < *low || high != nil && value > *high {
		want = v1alpha1.GateFailed
	}
	v.word(at+"verdict", string(judged.Verdict), string(want))
	return want
}

// gateValue returns the value of a metric. Columns of a method are definitions, which name the
// field of the row; the others are computed here.
func gateValue(row *v1alpha1.ResultRow, metric gate.Metric) int64 {
	f, l := row.Frames.OrZero(), row.Latency
	switch metric.Name {
	case "Throughput":
		return f.OfferedFramesPerSecond
	case "LineRate":
		return nearest(times(ratio(f.LineRatePPM, 1), ratio(f.OfferedFramesPerSecond, f.FramesPerSecond)))
	case "FrameLoss":
		lost := times(ratio(f.Lost, f.Sent), ratio(1_000_000_000, 1))
		if n := down(lost); !lost.IsInt() {
			return n + 1
		}
		return down(lost)
	}
	if l != nil {
		switch metric.Name {
		case "LatencyP50":
			return l.P50Ns
		case "LatencyP90":
			return l.P90Ns
		case "LatencyP99":
			return l.P99Ns
		case "LatencyP999":
			return l.P999Ns
		}
	}
	value, _ := metric.Value(row)
	return value
}

func bound(metric gate.Metric, text v1alpha1.GateBound) *int64 {
	if text == "" {
		return nil
	}
	n, err := metric.Unit.Parse(text)
	if err != nil {
		return nil
	}
	return &n
}

// relative returns the lowest and the highest whole value within the shares of a baseline.
func relative(baseline int64, r *v1alpha1.RelativeBound) (low, high *int64) {
	of := func(t *v1alpha1.Tolerance, sign int64) *big.Rat {
		ppm, err := t.PPM()
		if err != nil {
			return new(big.Rat)
		}
		return times(ratio(baseline, 1), ratio(max(0, million+sign*ppm), million))
	}
	if r.MaxDecrease != nil {
		lowest := of(r.MaxDecrease, -1)
		n := down(lowest)
		if !lowest.IsInt() {
			n++
		}
		low = &n
	}
	if r.MaxIncrease != nil {
		n := down(of(r.MaxIncrease, 1))
		high = &n
	}
	return low, high
}

// worst returns the worse of two verdicts.
func worst(a, b v1alpha1.GateVerdict) v1alpha1.GateVerdict {
	order := []v1alpha1.GateVerdict{v1alpha1.GatePassed, v1alpha1.GateInconclusive, v1alpha1.GateFailed}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// conclusive reports whether a row answers what its test asks.
func conclusive(d *report.Document, row *v1alpha1.ResultRow) bool {
	switch row.Validity {
	case v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated:
		return true
	case v1alpha1.ValidityGeneratorBound:
		// Without a device the tester is measured.
		return d.Bed != nil && device.Of(d.Bed.Device).Absent && row.Search != nil && row.Frames.OrZero().LineRatePPM > 0
	}
	return false
}

// outcome verifies the phase of the benchmark by rows and gates.
func (v *Verdict) outcome(d *report.Document) {
	if d.Phase == v1alpha1.PhaseAborted || d.Phase == v1alpha1.PhaseError || len(d.Rows) == 0 || len(v.WithoutTrials) == len(d.Rows) {
		return
	}
	want := measuredPhase(d)
	if want.Measured() && d.Gates != nil {
		switch d.Gates.Verdict {
		case v1alpha1.GateFailed:
			want = v1alpha1.PhaseFailed
		case v1alpha1.GateInconclusive:
			want = v1alpha1.PhaseInconclusive
		case v1alpha1.GatePassed:
			if want == v1alpha1.PhaseMeasured {
				want = v1alpha1.PhasePassed
			}
		}
	}
	if d.Phase == v1alpha1.PhaseInvalid && want != v1alpha1.PhaseInvalid {
		v.weakly("phase") // It may have ended before all rows were measured.
		return
	}
	v.word("phase", string(d.Phase), string(want))
}

// measuredPhase returns the phase by the rows alone.
func measuredPhase(d *report.Document) v1alpha1.BenchmarkPhase {
	measured, answered, tests := 0, map[string]bool{}, map[string]bool{}
	invalid := false
	for i := range d.Rows {
		row := &d.Rows[i]
		f := row.Frames.OrZero()
		if f.Sent > 0 && f.Received == 0 {
			return v1alpha1.PhaseFailed
		}
		invalid = invalid || row.Validity == v1alpha1.ValidityInvalid && len(row.ValidityReasons) > 0
		if row.Frames == nil || f.Sent > 0 && (f.LineRatePPM > 0 || row.Validity != v1alpha1.ValidityGeneratorBound) {
			measured++
		}
		if row.Frames != nil && f.Sent == 0 && row.Method != v1alpha1.MethodThroughput {
			continue // There was nothing to measure.
		}
		tests[row.TestName()] = true
		answered[row.TestName()] = answered[row.TestName()] || conclusive(d, row)
	}
	switch {
	case invalid || measured == 0:
		return v1alpha1.PhaseInvalid
	case slices.ContainsFunc(keys(tests), func(name string) bool { return !answered[name] }):
		return v1alpha1.PhaseInconclusive
	}
	return v1alpha1.PhaseMeasured
}

func keys(m map[string]bool) (all []string) {
	for name := range m {
		all = append(all, name)
	}
	return all
}

func (v *Verdict) wrong(field, printed, want string) {
	v.Mismatches = append(v.Mismatches, Mismatch{Field: field, Printed: printed, Recomputed: want})
}

func (v *Verdict) word(field, printed, want string) {
	if v.Recomputed++; printed != want {
		v.wrong(field, printed, want)
	}
}

func (v *Verdict) number(field string, printed, want int64) {
	v.word(field, fmt.Sprint(printed), fmt.Sprint(want))
}

func (v *Verdict) pointer(field string, printed, want *int64) {
	text := func(n *int64) string {
		if n == nil {
			return "absent"
		}
		return fmt.Sprint(*n)
	}
	v.word(field, text(printed), text(want))
}

func (v *Verdict) weakly(field string) {
	v.Consistent++
	addName(&v.Weak, field)
}
