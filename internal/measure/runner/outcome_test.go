package runner

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The last message of a run does not claim figures that are not there.
func TestAllMeasured(t *testing.T) {
	measured := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodBackToBack}, Frames: &v1alpha1.FrameSection{Sent: 100}}
	without := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodBackToBack}, Frames: &v1alpha1.FrameSection{}, Message: "not measured"}
	zero := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput}, Frames: &v1alpha1.FrameSection{}, Message: "nothing came back"}
	first, second := measured, measured
	first.Repetition, second.Repetition = 1, 2
	for want, rows := range map[string][]v1alpha1.ResultRow{
		"the only row was measured, in 2 measurements": {first, second},
		"the only row was measured":                    {measured},
		"both rows were measured":                      {measured, zero},
		"all 3 rows were measured":                     {measured, measured, zero},
		"2 of 3 rows were measured; the others say why there was nothing to measure": {measured, without, zero},
	} {
		if got := allMeasured(rows); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A run in which a test has no row that can be judged by does not pass, and says which, why
// and what to do. Of several configurations of a device each counts by itself.
func TestInconclusive(t *testing.T) {
	row := func(test string, validity v1alpha1.Validity, edits ...func(*v1alpha1.ResultRow)) v1alpha1.ResultRow {
		r := v1alpha1.ResultRow{
			RowID:  v1alpha1.RowID{Test: test, Method: v1alpha1.MethodForwardingRate, FrameSize: 64},
			Frames: &v1alpha1.FrameSection{LineRatePPM: v1alpha1.PPM, Sent: 86_784, Received: 86_784}, Validity: validity,
		}
		if validity != v1alpha1.ValidityVirtual {
			r.ValidityReasons = []string{"because"}
		}
		for _, edit := range edits {
			edit(&r)
		}
		return r
	}
	of := func(variant v1alpha1.VariantName) func(*v1alpha1.ResultRow) {
		return func(r *v1alpha1.ResultRow) { r.Variant = variant }
	}
	unsent := func(r *v1alpha1.ResultRow) { r.Frames = &v1alpha1.FrameSection{} }
	search := func(r *v1alpha1.ResultRow) { r.Method = v1alpha1.MethodThroughput }
	silent := func(r *v1alpha1.ResultRow) { r.Frames.Received = 0 }
	incast := func(r *v1alpha1.ResultRow) {
		r.Method, r.FrameSize, r.Servers, r.Frames, r.Incast = v1alpha1.MethodIncast, 0, 4, nil, &v1alpha1.IncastSummary{}
	}
	const bound, contended, virtual = v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityContended, v1alpha1.ValidityVirtual
	none := v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}
	for name, tc := range map[string]struct {
		device  v1alpha1.Device
		rows    []v1alpha1.ResultRow
		phase   v1alpha1.BenchmarkPhase
		message string
	}{
		"the tester sent less than was asked for": {rows: []v1alpha1.ResultRow{row("mrr", bound)}, phase: v1alpha1.PhaseInconclusive,
			message: "the only row was measured, and test mrr has no conclusive row: mrr 64 B is GeneratorBound, because; measure at a load that the tester offers, or on a bed with a faster tester"},
		"the hosts are the limit": {rows: []v1alpha1.ResultRow{row("incast", bound, incast)}, phase: v1alpha1.PhaseInconclusive,
			message: "the only row was measured, and test incast has no conclusive row: incast with 4 servers is GeneratorBound, because; measure when nothing else uses the machine of the hosts, or on a bed with faster processors"},
		"one row is enough":      {rows: []v1alpha1.ResultRow{row("mrr", bound), row("mrr", virtual)}, phase: v1alpha1.PhaseMeasured},
		"each test needs one":    {rows: []v1alpha1.ResultRow{row("mrr", contended), row("soak", virtual)}, phase: v1alpha1.PhaseInconclusive, message: "both rows were measured, and test mrr has no conclusive row: mrr 64 B is Contended, because; measure again when nothing else uses the tester and the bed"},
		"the gravest is named":   {rows: []v1alpha1.ResultRow{row("a", contended), row("b", bound)}, phase: v1alpha1.PhaseInconclusive, message: "both rows were measured, and tests a, b have no conclusive row: b 64 B is GeneratorBound, because; measure at a load that the tester offers, or on a bed with a faster tester"},
		"a tester not measured":  {rows: []v1alpha1.ResultRow{row("mrr", v1alpha1.ValidityUncalibrated)}, phase: v1alpha1.PhaseInconclusive, message: "the only row was measured, and test mrr has no conclusive row: mrr 64 B is Uncalibrated, because"},
		"a variant without one":  {rows: []v1alpha1.ResultRow{row("mrr", virtual, of("on")), row("mrr", bound, of("off"))}, phase: v1alpha1.PhaseInconclusive, message: "both rows were measured, and test mrr (off) has no conclusive row: mrr (off) 64 B is GeneratorBound, because; measure at a load that the tester offers, or on a bed with a faster tester"},
		"nothing to measure":     {rows: []v1alpha1.ResultRow{row("bursts", bound, unsent), row("mrr", virtual)}, phase: v1alpha1.PhaseMeasured},
		"nothing came back":      {rows: []v1alpha1.ResultRow{row("mrr", bound, silent)}, phase: v1alpha1.PhaseFailed},
		"not measured":           {rows: []v1alpha1.ResultRow{row("mrr", bound), row("reset", v1alpha1.ValidityInvalid)}, phase: v1alpha1.PhaseInvalid},
		"the tester is measured": {device: none, rows: []v1alpha1.ResultRow{row("throughput", bound, search)}, phase: v1alpha1.PhaseMeasured},
		"the tester at a load":   {device: none, rows: []v1alpha1.ResultRow{row("mrr", bound)}, phase: v1alpha1.PhaseInconclusive},
	} {
		phase, reason, message := conclude(t.Context(), tc.device, tc.rows, nil)
		if phase != tc.phase || tc.message != "" && message != tc.message || (reason == v1alpha1.ReasonInconclusive) != (phase == v1alpha1.PhaseInconclusive) {
			t.Errorf("%s: %s, %s: %s, want %s: %s", name, phase, reason, message, tc.phase, tc.message)
		}
	}
}
