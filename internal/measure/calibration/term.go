package calibration

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// DefaultMaxAge is the maximum age of a calibration if the bed does not set one.
const DefaultMaxAge = 720 * time.Hour

// MaxAge returns the maximum age of the calibration that a bed refers to.
func MaxAge(ref *v1alpha1.CalibrationReference) time.Duration {
	if ref.MaxAge != nil {
		return ref.MaxAge.Duration
	}
	return DefaultMaxAge
}

// Term returns the time of the calibration that a bed refers to, and the time until which benchmarks may begin with it.
// By is the bed that holds the calibration. Both times are zero without one.
func Term(ref *v1alpha1.CalibrationReference, by *v1alpha1.TestBed) (at, ends time.Time) {
	if ref == nil || by == nil || by.Status.Calibration == nil || !device.Of(by.Spec.Device).Absent {
		return at, ends
	}
	at = by.Status.Calibration.Time.Time
	return at, at.Add(MaxAge(ref))
}
