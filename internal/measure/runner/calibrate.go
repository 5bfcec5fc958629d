package runner

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// calibrate sums up a run without a device, which has measured the tester.
func (r *run) calibrate() {
	if !r.state.Outcome.Measured() || r.state.Environment == nil || !device.Of(r.cfg.Bed.Spec.Device).Absent {
		return
	}
	b := &r.cfg.Benchmark
	r.state.Environment.Calibration = calibration.Of(
		&r.cfg.Bed, b.Namespace+"/"+b.Name, r.gen.Clock().Now(), version.String(), r.state.Rows, calibration.Conditions(r.plan, &r.cfg.Bed, r.info))
}

// ceiling returns the rates that the tester passes by itself as hints, for frame sizes at
// which a search has found its limit: no device is found to pass more.
func ceiling(c *v1alpha1.CalibrationStatus, p plan.Plan) []search.Hint {
	if c == nil || len(p.Ports) == 0 {
		return nil
	}
	var hints []search.Hint
	for _, f := range c.FrameSizes {
		if f.UpperBoundPPM == 0 {
			continue // The tester may do more.
		}
		h, ok := search.Found(p.Ports[0].BitsPerSecond, int(f.FrameSize), f.LineRatePPM, v1alpha1.PPM, "calibration of bed "+c.TestBedName)
		if ok {
			h.Tester = true
			hints = append(hints, h)
		}
	}
	return hints
}
