package benchmarks

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
)

// calibrationOf returns the calibration of the tester on the bed that a bed refers to. It
// returns nil if the bed refers to none, or if no calibration exists.
func calibrationOf(ctx context.Context, live client.Reader, bed *v1alpha1.TestBed) (*v1alpha1.CalibrationStatus, error) {
	ref := bed.Spec.Calibration
	if ref == nil {
		return nil, nil
	}
	by := &v1alpha1.TestBed{}
	if err := live.Get(ctx, client.ObjectKey{Name: ref.TestBedName}, by); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading test bed %s, which calibrates %s: %w", ref.TestBedName, bed.Name, err)
	}
	if !device.Of(by.Spec.Device).Absent {
		return nil, nil // The bed has a device by now: the earlier calibration does not apply.
	}
	return by.Status.Calibration, nil
}

// calibrate stores the calibration by a benchmark that has measured a bed without a device,
// before the bed is released. A benchmark without usable rows leaves the stored one.
func (e *ending) calibrate(ctx context.Context, s *kit.Scope) error {
	if !s.Status.Outcome.Measured() || s.Status.Results == nil {
		return nil
	}
	l, err := e.ledgers.open(ctx, s)
	if err != nil {
		return err
	}
	environment := l.Environment()
	if environment == nil || environment.Calibration == nil {
		return nil
	}
	bed := &v1alpha1.TestBed{}
	if err := e.live.Get(ctx, client.ObjectKey{Name: s.Status.TestBedName}, bed); err != nil {
		return client.IgnoreNotFound(err)
	}
	lease, found := bed.Status.Lease, environment.Calibration
	if !device.Of(bed.Spec.Device).Absent || lease == nil || lease.UID != s.Run.UID || equality.Semantic.DeepEqual(bed.Status.Calibration, found) {
		return nil
	}
	if _, err := kit.PatchBed(ctx, e.client, bed, map[string]any{"calibration": found}, bed.ResourceVersion); err != nil {
		return err
	}
	e.recorder.Eventf(bed, s.Benchmark, corev1.EventTypeNormal, "Calibrated", "Calibrate", "%s", kit.Truncated(fmt.Sprintf(
		"benchmark %s/%s has calibrated the bed at %d frame sizes", s.Namespace, s.Name, len(found.FrameSizes))))
	return nil
}
