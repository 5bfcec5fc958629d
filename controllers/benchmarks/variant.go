package benchmarks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// variants takes a benchmark from one configuration of the device to the next.
type variants struct {
	objects kit.RunObjects
	// deadline is the time within which a variant must be removed.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// choose selects the configuration of the device. A benchmark that names variants runs
// the phases after this one once for each: device, traffic pods and runner are made for
// one variant, and all of them are removed before the next one begins.
func (v *variants) choose(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	switch kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionDeviceReady) {
	case v1alpha1.ReasonVariantMeasured:
		next, _ := s.Spec.VariantAfter(s.Status.Variant)
		return v.prepareAgain(ctx, s, next)
	case v1alpha1.ReasonNotResumable:
		return v.prepareAgain(ctx, s, s.Spec.VariantsInOrder()[0])
	}
	if s.Status.Variant == "" {
		s.Status.Variant = s.Spec.VariantsInOrder()[0]
	}
	device, found := s.Bed.Spec.Device.As(s.Status.Variant)
	if !found {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, fmt.Sprintf(
			"the device of bed %s has no variant %s any more: the bed was changed while the benchmark had it; %s", s.Bed.Name, s.Status.Variant, rowsKept(s))), nil
	}
	s.Device = device.From(s.Spec.DeviceImage)
	return kit.Proceed(), nil
}

// leaveVariant begins the change to the next variant. It is stored together with the
// rows of this one, before anything is removed.
func leaveVariant(s *kit.Scope, next v1alpha1.VariantName) kit.Step {
	s.Status.Phase = v1alpha1.PhasePreparing
	s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionFalse, v1alpha1.ReasonVariantMeasured, fmt.Sprintf(
		"variant %s was measured, and is removed before variant %s is prepared", s.Status.Variant, next))
	return kit.Again(kit.Soon)
}

// prepareAgain removes what was made for a variant, and only then begins the next one.
// What exists is always of the variant in the status, also after a crash in between.
func (v *variants) prepareAgain(ctx context.Context, s *kit.Scope, next v1alpha1.VariantName) (kit.Step, error) {
	what := "what was started"
	if s.Status.Variant != "" {
		what = "variant " + string(s.Status.Variant)
	}
	left, err := v.objects.CleanUpVariant(ctx, s.Run)
	if err != nil {
		return kit.Step{}, err
	}
	if left == "" {
		s.Status.Variant = next
		s.Status.Message = "the device is being prepared"
		if next != "" {
			s.Status.Message = fmt.Sprintf("variant %s is being prepared", next)
		}
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionDeviceReady)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionTrafficReady)
		return kit.Again(kit.Soon), nil
	}
	s.Status.Message = fmt.Sprintf("%s is being removed: %s", what, left)
	if next, late := s.Late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonCleanUpFailed, v.deadline,
		fmt.Sprintf("%s was not removed (%s; %s)", what, left, rowsKept(s))); late {
		return next, nil
	}
	return kit.Again(v.poll), nil
}
