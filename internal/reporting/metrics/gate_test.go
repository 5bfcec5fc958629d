package metrics

import (
	"fmt"
	"maps"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// gated is small with gates: the frames of 64 bytes fail the first one.
func gated(t *testing.T) runner.Config {
	t.Helper()
	cfg := small(t)
	cfg.Benchmark.Spec.Gates = []v1alpha1.Gate{
		{Name: "fast", Test: "throughput", Metric: "LineRate", Min: "50%"},
		{Name: "quick", Test: "latency", Loads: []string{"10%"}, FrameSizes: []int32{128}, Metric: "LatencyP99", Min: "1us", Max: "10us"},
	}
	return cfg
}

// verdicts returns the points of the gates of a result, and the judgement.
func verdicts(t *testing.T, cfg runner.Config, r *Run, rows []v1alpha1.ResultRow) ([]Point, *gate.Judgement) {
	t.Helper()
	benchmark := cfg.Benchmark.DeepCopy()
	benchmark.Status.Outcome = v1alpha1.PhaseMeasured
	j := report.Judge(report.Content{Benchmark: benchmark, Bed: &cfg.Bed, Rows: rows})
	points, err := r.Gates(j, rows)
	if err != nil {
		t.Fatal(err)
	}
	return points, j
}

// A verdict has the time and the tags of its row, and the limits of the gate.
func TestGates(t *testing.T) {
	t.Parallel()
	cfg := gated(t)
	state, _, _ := measured(t, cfg)
	points, j := verdicts(t, cfg, newRun(t, cfg), state.Rows)
	if len(points) != 3 || j.Verdict != v1alpha1.GateFailed {
		t.Fatalf("%d points, want 3; the verdict is %s", len(points), j.Verdict)
	}
	rows, err := newRun(t, cfg).Rows(state.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		gate, metric string
		fields       map[string]any
	}{
		{"fast", "LineRate", map[string]any{
			"verdict": "Failed", "reason": "OutOfBounds", "unit": "ppm", "value": int64(400_000), "min": int64(500_000), "value_text": "40%", "limits_text": "at least 50%",
		}},
		{"fast", "LineRate", map[string]any{"verdict": "Passed", "unit": "ppm", "value": int64(800_000), "min": int64(500_000), "value_text": "80%", "limits_text": "at least 50%"}},
		{"quick", "LatencyP99", map[string]any{
			"verdict": "Passed", "unit": "ns", "load": "10%", "value": state.Rows[4].Latency.P99Ns, "min": int64(1_000), "max": int64(10_000),
			"value_text": fmt.Sprintf("%.3f µs", float64(state.Rows[4].Latency.P99Ns)/1000), "limits_text": "at least 1.000 µs, at most 10.000 µs",
		}},
	} {
		row := []int{0, 1, 4}[i]
		wantTags, _, at := decode(t, rows[row])
		wantTags["gate"], wantTags["metric"] = want.gate, want.metric
		maps.Copy(want.fields, map[string]any{"run": "1", "benchmark": "small"})
		tags, fields, time := decode(t, points[i])
		if !maps.Equal(tags, wantTags) || !time.Equal(at) {
			t.Errorf("%v at %s, want %v at %s", tags, time, wantTags, at)
		}
		if !maps.Equal(fields, want.fields) {
			t.Errorf("%v, want %v", fields, want.fields)
		}
	}
	if none, err := newRun(t, cfg).Gates(nil, state.Rows); len(none) != 0 || err != nil {
		t.Errorf("a result without gates has the points %v: %v", none, err)
	}
	state.Rows[0].Test = "another"
	if _, err := newRun(t, cfg).Gates(j, state.Rows); err == nil {
		t.Error("a row that is not planned has a verdict")
	}
}

// The verdict on a repeated row is a point at the time of its last repetition.
func TestGatesOfRepeatedRows(t *testing.T) {
	t.Parallel()
	cfg := gated(t)
	cfg.Benchmark.Spec.Tests[0].Repetitions = 3
	state := run(t, cfg)
	for i := range state.Rows {
		state.Rows[i].ElapsedMilliseconds = 1000
	}
	points, _ := verdicts(t, cfg, newRun(t, cfg), state.Rows)
	rows, err := newRun(t, cfg).Rows(state.Rows)
	if err != nil {
		t.Fatal(err)
	}
	var last Point
	for i, row := range state.Rows {
		if row.Test == "throughput" && row.FrameSize == 64 {
			last = rows[i]
		}
	}
	if len(points) != 3 || !points[0].Time.Equal(last.Time) || points[0].Time.Equal(rows[0].Time) {
		t.Errorf("%d points, the first at %s; want 3, and %s", len(points), points[0].Time, last.Time)
	}
}
