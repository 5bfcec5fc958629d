//go:build !standalone

package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// One runner measures one variant, and hands on what those before it have found.
func TestRunnerPodMeasuresOneVariant(t *testing.T) {
	sendsNoFrames(t)
	set, err := manifest.Load([]string{"../../config/samples/variants"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := set.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	config := runner.Config{Benchmark: bundle.Benchmark, Profile: bundle.Profile, Bed: bundle.Bed}
	var stored []v1alpha1.ResultRow
	for i, variant := range []v1alpha1.VariantName{"fec-off", "fec-on"} {
		config.Variant, config.Model = variant, bundle.Tables[variant].Model
		p, client := newPodLab(t).runner(config)
		client.stored = stored
		state := await(t, p, client, "the end", isDone)
		terminate(t, p)
		p.wants(exit.Passed, "", "outcome=Measured")
		if !state.Finished() || len(state.Rows) != 32*(i+1) || state.Progress.RowsTotal != 64 || int(state.Progress.RowsDone) != len(state.Rows) {
			t.Fatalf("%s: %s with %d rows: %s (%s)", variant, state.Outcome, len(state.Rows), state.Message, state.Progress.Summary)
		}
		for n, row := range state.Rows {
			if want := []v1alpha1.VariantName{"fec-off", "fec-on"}[n/32]; row.Variant != want {
				t.Errorf("row %d is of variant %q, want %q", n, row.Variant, want)
			}
		}
		stored = state.Rows
	}
}
