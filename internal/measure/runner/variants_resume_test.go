package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// inTwo is a configuration whose device has two variants: the second forwards
// half of what the first does.
func inTwo() (cfg Config, models map[v1alpha1.VariantName]string) {
	cfg = small(good)
	cfg.Bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "whole"}, {Name: "half"}}
	cfg.Benchmark.Spec.Variants = []v1alpha1.VariantName{"whole", "half"}
	return cfg, map[v1alpha1.VariantName]string{
		"whole": good, "half": header + "\n64,20,1,2,3,0.1,0.2\n128,40,1,2,3,0.1,0.2\n",
	}
}

// in is the configuration for one variant.
func in(cfg Config, variant v1alpha1.VariantName, model string) Config {
	cfg.Variant, cfg.Model = variant, model
	return cfg
}

func TestEveryVariantIsMeasured(t *testing.T) {
	cfg, models := inTwo()
	var prepared []Prepared
	for _, v := range cfg.Benchmark.Spec.Variants {
		one := in(cfg, v, models[v])
		prepared = append(prepared, Prepared{Config: complete(one), Generator: engine(t, one)})
	}
	var last State
	state := RunVariants(context.Background(), prepared, WithObserver(func(s State) {
		p, b := s.Progress, last.Progress
		if len(s.Rows) < len(last.Rows) || p.RowsDone < b.RowsDone || p.TrialsDone < b.TrialsDone {
			t.Errorf("%+v comes after %+v", p, b)
		}
		last = s
	}))
	if state.Outcome != v1alpha1.PhaseMeasured || state.Message != "all 12 rows were measured" || state.Progress.Summary != "12/12 rows, 100%" {
		t.Errorf("%s: %s; %s", state.Outcome, state.Message, state.Progress.Summary)
	}
	var got []string
	for _, r := range state.Rows {
		if r.Load == "" || r.Load == v1alpha1.LoadThroughput {
			got = append(got, fmt.Sprintf("%s %s %d %d", r.Variant, r.Test, r.FrameSize, r.Frames.LineRatePPM))
		}
	}
	// The load throughput is that of the same variant.
	want := []string{
		"whole throughput 64 400000", "whole throughput 128 800000", "whole latency 64 400000", "whole latency 128 800000",
		"half throughput 64 200000", "half throughput 128 400000", "half latency 64 200000", "half latency 128 400000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := state.Environment; e == nil || len(e.Variants) != 2 || e.Variants[1].Name != "half" || e.Variants[1].Device == "" {
		t.Errorf("environment %+v", e)
	}
}

// A runner that is lost in the second variant is followed by one that keeps the
// rows of both, and measures only what is missing of the second.
func TestVariantsResume(t *testing.T) {
	cfg, models := inTwo()
	first := runSim(t, in(cfg, "whole", models["whole"]))
	if !first.Finished() || len(first.Rows) != 6 {
		t.Fatalf("%s with %d rows: %s", first.Outcome, len(first.Rows), first.Message)
	}
	second := in(cfg, "half", models["half"])
	given := WithRows(first.Rows)
	whole := runSim(t, second, given)
	for stopAt := 1; stopAt < int(whole.Progress.TrialsDone-first.Progress.TrialsDone); stopAt += 5 {
		dir := t.TempDir()
		lost := Run(context.Background(), complete(second), &failing{Engine: engine(t, second), n: stopAt, err: traffic.ErrLost}, WithCheckpoint(dir), given)
		if lost.Finished() || lost.Reason != v1alpha1.ReasonAgentLost || len(lost.Rows) < 6 {
			t.Fatalf("stopped at %d: %s with %d rows: %s", stopAt, lost.Outcome, len(lost.Rows), lost.Message)
		}
		for name, again := range map[string]State{"checkpoint": runSim(t, second, WithCheckpoint(dir), given), "given": runSim(t, second, WithRows(lost.Rows))} {
			if diff := cmp.Diff(untimed(whole.Rows), untimed(again.Rows)); diff != "" {
				t.Errorf("%s after %d trials (-whole +resumed): %s", name, stopAt, diff)
			}
			var fresh int32
			for _, row := range again.Rows[len(lost.Rows):] {
				fresh += row.Trials
			}
			if got := again.Progress.TrialsDone - first.Progress.TrialsDone; got != fresh {
				t.Errorf("%s after %d trials: %d trials for rows of %d", name, stopAt, got, fresh)
			}
		}
	}
}

// untimed are rows without the time they took: the first one of a run needs no
// rest before it.
func untimed(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].ElapsedMilliseconds = 0
		rows[i].TrialRecords.ElapsedNs = 0
	}
	return rows
}

func TestAVariantThatForwardsNothingIsFollowedByTheNext(t *testing.T) {
	cfg, models := inTwo()
	dead := in(cfg, "whole", header+"\n64,0,,,,,\n128,80,1,2,3,0,0\n")
	second := in(cfg, "half", models["half"])
	state := RunVariants(context.Background(), []Prepared{{Config: complete(dead), Generator: engine(t, dead)}, {Config: complete(second), Generator: engine(t, second)}})
	if state.Outcome != v1alpha1.PhaseFailed || len(state.Rows) != 12 || !strings.Contains(state.Message, "test throughput (whole), 64 B") {
		t.Errorf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
}

// The result describes how the variants differ, so that others can repeat it.
func TestTheEnvironmentDescribesVariants(t *testing.T) {
	cfg, models := inTwo()
	yes := true
	ref := v1alpha1.ConfigMapKeyReference{Name: "models", Key: "half.csv"}
	cfg.Bed.Spec.Device.Variants[1].Simulated = &v1alpha1.SimulatedVariant{
		Model: &v1alpha1.ModelSource{ConfigMapRef: ref}, Behaviour: &v1alpha1.SimulatedBehaviour{BackPressure: &yes},
	}
	e := runSim(t, in(cfg, "whole", models["whole"])).Environment
	whole, half := e.Variants[0].Device, e.Variants[1].Device
	if strings.Contains(whole, "behaviour") || whole != e.Device {
		t.Errorf("the device as it is: %q, and the device %q", whole, e.Device)
	}
	if want := "modelled by models/half.csv with backPressure true"; half != want {
		t.Errorf("%q, want %q", half, want)
	}
}

func TestAVariantThatTheBenchmarkDoesNotName(t *testing.T) {
	cfg, _ := inTwo()
	for _, variant := range []v1alpha1.VariantName{"", "third"} {
		state := Run(context.Background(), complete(in(cfg, variant, good)), engine(t, in(cfg, "whole", good)))
		if state.Outcome != v1alpha1.PhaseError || !strings.Contains(state.Message, fmt.Sprintf("variant %q is prepared", variant)) {
			t.Errorf("%q: %s: %s", variant, state.Outcome, state.Message)
		}
	}
}
