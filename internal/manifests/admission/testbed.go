package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
)

// TestBeds judges test beds when they are created, and when their description
// changes.
type TestBeds struct{}

var _ admission.Validator[*v1alpha1.TestBed] = (*TestBeds)(nil)

// ValidateCreate refuses a bed that cannot work.
func (v *TestBeds) ValidateCreate(_ context.Context, bed *v1alpha1.TestBed) (admission.Warnings, error) {
	return judge(bed, preflight.TestBed(bed))
}

// ValidateUpdate refuses a change that makes the bed unworkable, and any change
// of ports, device or engine while a benchmark has the bed.
func (v *TestBeds) ValidateUpdate(_ context.Context, before, after *v1alpha1.TestBed) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	problems := preflight.TestBed(after)
	if lease := before.Status.Lease; lease != nil && !sameHardware(before, withHooksOfQuarantined(before, after)) {
		problems = append(problems, field.Forbidden(field.NewPath("spec"), fmt.Sprintf(
			"benchmark %s has the bed, whose device, engine and ports stay as they are until it is done: wait, or abort it (spec.abort)", lease.Holder)))
	}
	return judge(after, problems)
}

// ValidateDelete lets everything pass: a finalizer keeps a leased bed.
func (v *TestBeds) ValidateDelete(context.Context, *v1alpha1.TestBed) (admission.Warnings, error) {
	return nil, nil
}

// sameHardware compares all but who may use the bed, how people get to it, what may be sent
// on it, and what calibrates it.
func sameHardware(a, b *v1alpha1.TestBed) bool {
	x, y := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	x.Access, y.Access = nil, nil
	x.Policy, y.Policy = nil, nil
	x.Calibration, y.Calibration = nil, nil
	x.Connection, y.Connection = nil, nil
	x.Unschedulable, y.Unschedulable = false, false
	return equality.Semantic.DeepEqual(x, y)
}

// withHooksOfQuarantined returns a changed bed, of a quarantined bed with the hooks from before: nothing runs on it, and a hook
// that cannot succeed is corrected before the bed is released.
func withHooksOfQuarantined(before, after *v1alpha1.TestBed) *v1alpha1.TestBed {
	if !meta.IsStatusConditionTrue(before.Status.Conditions, v1alpha1.ConditionQuarantined) {
		return after
	}
	after = after.DeepCopy()
	after.Spec.Hooks = before.Spec.Hooks
	return after
}

func judge(bed *v1alpha1.TestBed, problems field.ErrorList) (admission.Warnings, error) {
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("TestBed").GroupKind(), bed.Name, problems)
	}
	return preflight.TestBedWarnings(bed), nil
}
