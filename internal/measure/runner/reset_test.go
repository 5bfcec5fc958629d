package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
)

func resetConfig(trigger v1alpha1.ResetTrigger) Config {
	cfg := small(good)
	cfg.Bed.Spec.Device.Simulated.Behaviour = &v1alpha1.SimulatedBehaviour{ResetTime: &metav1.Duration{Duration: 40 * time.Second}}
	test := v1alpha1.ResetTest{Trigger: trigger, Load: "20%", Repetitions: 2}
	test.LeadTime.Duration, test.TrialDuration.Duration = 15*time.Second, 2*time.Minute
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "reset", Reset: &test}}
	return cfg
}

// The engine sim is a device that the lab can reset, from the configuration to the
// rows.
func TestTheSimulatedDeviceIsReset(t *testing.T) {
	state := runSim(t, resetConfig(v1alpha1.ResetByDevice))
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 2 {
		t.Fatalf("%s: %s, %d rows", state.Outcome, state.Message, len(state.Rows))
	}
	for _, row := range state.Rows {
		if r := row.Reset; r == nil || r.AvgNs < 39_999_990_000 || r.AvgNs > 40_000_010_000 || row.Validity != v1alpha1.ValiditySimulated || row.Trials != 2 {
			t.Errorf("%d B: %+v, %s", row.FrameSize, row.Reset, row.Validity)
		}
	}
}

// The progress asks a person for the reset. If the device is not reset, the run is Invalid,
// and its rows contain the reason.
func TestAResetThatNobodyMade(t *testing.T) {
	cfg := resetConfig(v1alpha1.ResetExternal)
	var asked []string
	state := Run(context.Background(), complete(cfg), engine(t, cfg), WithObserver(func(s State) {
		if strings.Contains(s.Progress.Trial, "reset the device now") && !slices.Contains(asked, s.Progress.Trial) {
			asked = append(asked, s.Progress.Trial)
			// Of this frame size two trials of 127 s are left, less the 15 s that are over.
			if want := int64((3-len(asked))*2*127 - 15); s.Progress.SecondsLeft != want {
				t.Errorf("%s: %d s are left, want %d", s.Progress.Trial, s.Progress.SecondsLeft, want)
			}
		}
	}))
	if !slices.Equal(asked, []string{"reset 64 B: 20% for 2m0s: reset the device now", "reset 128 B: 20% for 2m0s: reset the device now"}) {
		t.Errorf("asked %q", asked)
	}
	if state.Outcome != v1alpha1.PhaseInvalid || state.Reason != v1alpha1.ReasonNothingHappened || state.Message != "test reset, 64 B: no frame was lost in 2m: the device was not reset, or it forwards during a reset of this kind" {
		t.Errorf("%s %s: %s", state.Outcome, state.Reason, state.Message)
	}
	for _, row := range state.Rows {
		if row.Validity != v1alpha1.ValidityInvalid || row.Reset != nil {
			t.Errorf("%+v", row)
		}
	}
}

// scaleConfig gives a simulated device lists.
func scaleConfig() Config {
	cfg := small(good)
	cfg.Bed.Spec.Device.Simulated.Behaviour = &v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(100))}
	test := v1alpha1.ConfigurationScaleTest{Load: "20%"}
	test.TrialDuration.Duration = time.Second
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "scale", ConfigurationScale: &test}}
	return cfg
}

// The engine sim is a device that the lab can give lists, from the configuration to the rows.
func TestTheSimulatedDeviceGetsLists(t *testing.T) {
	state := runSim(t, scaleConfig())
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 2 {
		t.Fatalf("%s: %s, %d rows", state.Outcome, state.Message, len(state.Rows))
	}
	for _, row := range state.Rows {
		if s := row.ConfigurationScale; s == nil || s.Entries != 100 || s.FailedEntries != 101 || row.Validity != v1alpha1.ValiditySimulated || row.Trials != s.Configurations+1 {
			t.Errorf("%d B: %+v, %s, %d trials", row.FrameSize, s, row.Validity, row.Trials)
		}
	}
}

// A runner that was lost after a reset, or with a list on the device, leaves it with another configuration. The next one gives it the configuration of the
// run before the first trial, and measures nothing if it cannot.
func TestTheDeviceIsRestoredBeforeTheFirstTrial(t *testing.T) {
	for name, cfg := range map[string]Config{"reset": resetConfig(v1alpha1.ResetByDevice), "lists": scaleConfig()} {
		var calls []string
		restore := func(context.Context) (bool, error) { calls = append(calls, "restore"); return true, nil }
		trial := func(trials.Event) {
			if calls[len(calls)-1] != "trial" {
				calls = append(calls, "trial")
			}
		}
		state := runSim(t, cfg, WithRestore(restore), WithEvents(trial))
		if state.Outcome != v1alpha1.PhaseMeasured || len(calls) < 2 || calls[0] != "restore" || calls[1] != "trial" {
			t.Errorf("%s: %s: %s; calls %q", name, state.Outcome, state.Message, calls)
		}

		calls = nil
		failing := func(context.Context) (bool, error) { return false, errors.New("the device cannot be reached") }
		state = runSim(t, cfg, WithRestore(failing), WithEvents(func(trials.Event) { calls = append(calls, "trial") }))
		if want := "reading the configuration of the device before the first trial: the device cannot be reached"; state.Outcome != v1alpha1.PhaseError || state.Message != want || len(calls) > 0 {
			t.Errorf("%s: %s: %s, want %q; calls %q", name, state.Outcome, state.Message, want, calls)
		}
	}
}
