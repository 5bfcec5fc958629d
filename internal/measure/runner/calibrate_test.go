package runner

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// withoutDevice takes the device out of a simulated bed: what the model describes
// is then the tester itself.
func withoutDevice(t *testing.T, cfg Config, join v1alpha1.BackToBackJoin) (Config, *sim.Engine) {
	t.Helper()
	gen := engine(t, cfg)
	cfg.Bed.Spec.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{JoinedBy: join}}
	cfg.Bed.Name = "loops"
	cfg.Benchmark.Namespace, cfg.Benchmark.Name = "lab", "calibrate"
	return cfg, gen
}

// A run without a device ends with the calibration of its tester; a run with the
// device and that calibration is Valid, and begins its search at the tester's
// limit.
func TestCalibrateAndUseIt(t *testing.T) {
	tester := header + ",generator_limit_percent\n64,100,1,2,3,0,0,20\n128,100,1,2,3,0,0,100\n"
	cfg, gen := withoutDevice(t, small(tester), v1alpha1.JoinedByCables)
	state := Run(t.Context(), complete(cfg), gen)
	if state.Outcome != v1alpha1.PhaseMeasured || state.Environment.Device != "none: the bed's cables join the ports" {
		t.Fatalf("%s, %q: %s", state.Outcome, state.Environment.Device, state.Message)
	}
	c := state.Environment.Calibration
	if c == nil || c.Benchmark != "lab/calibrate" || c.TestBedName != "loops" || c.JoinedBy != v1alpha1.JoinedByCables ||
		c.NoDropVersion != version.String() || c.Engine != v1alpha1.EngineSim || len(c.FrameSizes) != 2 {
		t.Fatalf("%+v", c)
	}
	small64, line := c.FrameSizes[0], c.FrameSizes[1]
	if small64.FrameSize != 64 || small64.LineRatePPM > 200_000 || small64.LineRatePPM < 199_000 || small64.UpperBoundPPM <= small64.LineRatePPM || small64.Latency.MinNs != 1000 {
		t.Errorf("%+v, want the tester's limit of 20 %%", small64)
	}
	if line.FrameSize != 128 || line.LineRatePPM != v1alpha1.PPM || line.UpperBoundPPM != 0 {
		t.Errorf("%+v, want line rate", line)
	}

	device := small(header + "\n64,15,1,2,3,0,0\n128,80,1,2,3,0,0\n")
	for i := range device.Benchmark.Spec.Tests {
		if test := device.Benchmark.Spec.Tests[i].Throughput; test != nil {
			test.Search = v1alpha1.SearchInformed
		}
	}
	gen = engine(t, device)
	device.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	for name, use := range map[string]*v1alpha1.CalibrationStatus{"calibrated": c, "not calibrated": nil} {
		device.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
		device.Calibration = use
		state := Run(t.Context(), complete(device), gen)
		outcome := v1alpha1.PhaseMeasured
		if use == nil {
			outcome = v1alpha1.PhaseInconclusive
		}
		if state.Outcome != outcome {
			t.Fatalf("%s: %s: %s", name, state.Outcome, state.Message)
		}
		for _, row := range state.Rows {
			want := v1alpha1.ValiditySimulated
			if use == nil {
				want = v1alpha1.ValidityUncalibrated
			}
			if row.Validity != want || (use == nil) != strings.Contains(strings.Join(row.ValidityReasons, ""), "test bed loops") {
				t.Errorf("%s: %s %d B is %s: %q", name, row.Test, row.FrameSize, row.Validity, row.ValidityReasons)
			}
		}
		first := state.Rows[0]
		if want := map[bool]string{true: "calibration of bed loops"}[use != nil]; first.Search.Start != want {
			t.Errorf("%s: began at %q, want %q", name, first.Search.Start, want)
		}
		if first.Frames.LineRatePPM > 150_000 || first.Frames.LineRatePPM < 149_000 || (state.Environment.Calibration == nil) != (use == nil) {
			t.Errorf("%s: %+v, %+v", name, first, state.Environment.Calibration)
		}
	}
}

// A run without a device that did not pass calibrates nothing.
func TestAFailedRunCalibratesNothing(t *testing.T) {
	cfg, gen := withoutDevice(t, small(header+"\n64,0,,,,,\n128,80,1,2,3,0,0\n"), "")
	state := Run(t.Context(), complete(cfg), gen)
	if state.Outcome != v1alpha1.PhaseFailed || state.Environment.Calibration != nil || state.Environment.Device != "none: the ports are joined at the tester" {
		t.Errorf("%s: %+v", state.Outcome, state.Environment)
	}
}
