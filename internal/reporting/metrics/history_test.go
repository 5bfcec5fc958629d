package metrics

import (
	"bytes"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// A run has the inputs by which nodrop history finds the results that belong to it: those
// of its result, as it is archived and read back. They are the same with another device
// and differ with other traffic.
func TestInputsAreThoseOfTheHistory(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	cfg.Profile.Spec.FrameSizes = nil
	inputs := newRun(t, cfg).inputs
	digest := func() string {
		t.Helper()
		benchmark := cfg.Benchmark.DeepCopy()
		benchmark.Status.TestBedName, benchmark.Spec.TTLSecondsAfterFinished = cfg.Bed.Name, new(int32(60))
		var text bytes.Buffer
		if err := report.New(report.Content{Benchmark: benchmark, Profile: &cfg.Profile, Bed: &cfg.Bed}).Write(&text, report.FormatJSON); err != nil {
			t.Fatal(err)
		}
		document, err := report.Read(text.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var b report.HistoryBuilder
		if err := b.Add(document); err != nil {
			t.Fatal(err)
		}
		h, err := b.History()
		if err != nil {
			t.Fatal(err)
		}
		return h.Digest
	}
	if got := digest(); got != inputs {
		t.Errorf("the result has the inputs %s, and its metrics %s", got, inputs)
	}
	cfg.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "another", Model: "device"}}
	if got := digest(); got != inputs {
		t.Errorf("with another device the inputs are %s, and were %s", got, inputs)
	}
	cfg.Profile.Spec.FrameSizes = []int32{64}
	if got := digest(); got == inputs || got != newRun(t, cfg).inputs {
		t.Errorf("with other traffic the result has the inputs %s, and its metrics %s", got, newRun(t, cfg).inputs)
	}
}
