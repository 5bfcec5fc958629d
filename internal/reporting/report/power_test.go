package report

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPowerTable shows the power of rows, and leaves out what is not known.
func TestPowerTable(t *testing.T) {
	t.Parallel()
	row := func(load v1alpha1.Load, p *v1alpha1.RowPower) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: load}, Power: p}
	}
	idle := &v1alpha1.PowerReading{MeanMilliwatts: 150_000}
	table := testResults{rows: []v1alpha1.ResultRow{
		row("10%", nil),
		row("20%", &v1alpha1.RowPower{Idle: idle, BitsPerSecond: 19_608_000, Message: "power: too short"}),
		row("30%", &v1alpha1.RowPower{
			Idle: idle, BitsPerSecond: 58_823_529, PicojoulesPerBit: new(int64(-1250)), PicojoulesPerBitAccuracy: 5692,
			Trial: &v1alpha1.PowerReading{MeanMilliwatts: 173_449, MinimumMilliwatts: 173_400, MaximumMilliwatts: 173_500, AccuracyMilliwatts: 1735, ScatterMilliwatts: 50},
			Fit:   &v1alpha1.PowerFit{BaseMilliwatts: 150_001, PicojoulesPerBit: 399_518, PicojoulesPerBitAccuracy: 6034, LargestResidualMilliwatts: 25},
		}),
	}}.power()
	want := [][]string{
		{"64 B at 20%", "0.020", "-", "-", "-", "-", "150.0", "-", "-", "-", "-", "-", "-"},
		{"64 B at 30%", "0.059", "173.4", "1.8", "173.4", "173.5", "150.0", "-1.250", "5.692", "150.0", "399.518", "6.034", "0.0"},
	}
	if !slices.EqualFunc(table.grid.Rows, want, slices.Equal) {
		t.Errorf("%q, want %q", table.grid.Rows, want)
	}
}
