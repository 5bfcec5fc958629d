package runner

import (
	"context"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// fakeTelemetry reports the loss that a run gives it, and counts rows.
type fakeTelemetry struct {
	begun, ended, abandoned int
}

func (f *fakeTelemetry) Facts(context.Context) *v1alpha1.DeviceFacts {
	return &v1alpha1.DeviceFacts{Model: "leaf"}
}

func (f *fakeTelemetry) Begin(context.Context) { f.begun++ }

func (f *fakeTelemetry) End(ctx context.Context, lost uint64) *v1alpha1.DeviceReadings {
	f.ended++
	if ctx.Err() != nil {
		f.abandoned++
	}
	return &v1alpha1.DeviceReadings{Lost: int64(lost), Unexplained: new(int64(lost))}
}

// TestReadingsOfRows gives each row the loss of all its trials, and does not wait for counters where there is no row.
func TestReadingsOfRows(t *testing.T) {
	cfg := small(good)
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
		{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "10%"}},
	}
	f := &fakeTelemetry{}
	state := runSim(t, cfg, WithTelemetry(f))
	if state.Outcome != v1alpha1.PhaseMeasured || state.Environment.DeviceFacts.Model != "leaf" {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	lossy := 0
	for _, row := range state.Rows {
		var lost int64
		for _, trial := range row.TrialRecords.Trials {
			lost += trial.Lost
		}
		if row.Readings.Lost != lost {
			t.Errorf("%s: the readings are of %d lost frames, and its trials lost %d", row.Name(), row.Readings.Lost, lost)
		}
		if lost > 0 {
			lossy++
		}
		if (lost > 0) != strings.Contains(row.Message, "no counter of the device explains") {
			t.Errorf("%s: %d lost frames: %s", row.Name(), lost, row.Message)
		}
	}
	const loads = 10
	planned := 2 + 2*loads
	if skipped := planned - len(state.Rows); lossy < 4 || f.begun != f.ended || f.begun != planned || skipped < 2 || f.abandoned != skipped {
		t.Errorf("%d rows, %d of them with loss, of %d: %+v", len(state.Rows), lossy, planned, f)
	}
}
