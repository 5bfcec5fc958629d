package gate

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// repeatedRow is a throughput row with an interval.
func repeatedRow(median, low, high int64) v1alpha1.ResultRow {
	r := row(64, v1alpha1.ValidityValid, median)
	r.Repeated = &v1alpha1.RepeatedSummary{Repetitions: 6, Figures: []v1alpha1.FigureInterval{
		{Metric: "Throughput", Median: median, Low: low, High: high, ConfidencePPM: 968_750, Values: make([]int64, 6)},
	}}
	return r
}

// A verdict needs the whole interval at one side of the bound.
func TestGatesUseIntervals(t *testing.T) {
	for name, c := range map[string]struct {
		gate    v1alpha1.Gate
		row     v1alpha1.ResultRow
		before  *v1alpha1.ResultRow
		verdict v1alpha1.GateVerdict
		message string
	}{
		"above":    {gate: atLeast("1k"), row: repeatedRow(1100, 1000, 1200), verdict: v1alpha1.GatePassed},
		"below":    {gate: atLeast("1k"), row: repeatedRow(900, 800, 999), verdict: v1alpha1.GateFailed, message: "900 frames/s is below 1,000 frames/s"},
		"within":   {gate: atLeast("1k"), row: repeatedRow(990, 900, 1080), verdict: v1alpha1.GateInconclusive, message: "the interval is 900 frames/s to 1,080 frames/s; about 486 repetitions would decide it"},
		"at bound": {gate: atLeast("1k"), row: repeatedRow(1000, 900, 1080), verdict: v1alpha1.GateInconclusive, message: "the interval is 900 frames/s to 1,080 frames/s"},
		"clear drop": {gate: within("5%", ""), row: repeatedRow(900, 890, 909), before: new(repeatedRow(1000, 970, 1010)), verdict: v1alpha1.GateFailed,
			message: "900 frames/s is more than 5% below 1,000 frames/s of the baseline"},
		"drop in the noise": {gate: within("5%", ""), row: repeatedRow(940, 900, 1000), before: new(repeatedRow(1000, 970, 1040)), verdict: v1alpha1.GateInconclusive,
			message: "940 frames/s may be more than 5% below 1,000 frames/s of the baseline"},
		"no drop":         {gate: within("5%", ""), row: repeatedRow(1000, 990, 1010), before: new(repeatedRow(1000, 990, 1010)), verdict: v1alpha1.GatePassed},
		"baseline of one": {gate: within("5%", ""), row: repeatedRow(1000, 990, 1010), before: new(row(64, v1alpha1.ValidityValid, 1000)), verdict: v1alpha1.GatePassed},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Spec: specOf(c.gate), Rows: []v1alpha1.ResultRow{c.row}}
			if c.before != nil {
				in.Baselines = baselineOf(c.gate, *c.before)
			}
			got := Judge(in).Gates[0].Rows[0]
			if got.Verdict != c.verdict || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s, %q, want %s, %q", got.Verdict, got.Message, c.verdict, c.message)
			}
			if (got.Verdict == v1alpha1.GateInconclusive) != (got.Reason == NotSignificant) || got.Low == nil {
				t.Errorf("reason %q, low %v", got.Reason, got.Low)
			}
		})
	}
}
