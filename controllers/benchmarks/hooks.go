package benchmarks

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// hooks runs the hooks of a bed before its device is touched. Those after the lease are part of the clean-up.
type hooks struct {
	objects  kit.RunObjects
	settings labobjects.Settings
	// deadline is the time for starting pods, in addition to what the hooks may take.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// before runs the hooks of the bed once for each lease, whatever variants the benchmark has.
func (h *hooks) before(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Bed.Spec.Hooks == nil || s.IsTrue(v1alpha1.ConditionBedPrepared) {
		return kit.Proceed(), nil
	}
	sec, err := labobjects.HooksSecret(h.settings, s.Run, s.Bed, s.Spec.Variants)
	if err != nil {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionBedPrepared, v1alpha1.ReasonHookFailed, err.Error()), nil
	}
	// From here on, hooks after the lease run.
	if err := h.objects.Ensure(ctx, s.Run, sec); err != nil {
		return kit.Step{}, err
	}
	hooks, err := h.objects.RunHooks(ctx, s.Run, sec, labobjects.BeforeLease)
	switch {
	case err != nil:
		return kit.Step{}, err
	case hooks.Failed != "":
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionBedPrepared, v1alpha1.ReasonHookFailed, hooks.Failed), nil
	case hooks.WaitsFor == "":
		s.Set(v1alpha1.ConditionBedPrepared, metav1.ConditionTrue, v1alpha1.ReasonBedPrepared, "the hooks of the bed have succeeded")
		return kit.Proceed(), nil
	}
	s.Set(v1alpha1.ConditionBedPrepared, metav1.ConditionFalse, v1alpha1.ReasonHookRunning, hooks.WaitsFor)
	if limit := v1alpha1.HooksWithin(s.Bed.Spec.Hooks.BeforeLease) + h.deadline; s.Overdue(v1alpha1.ReasonHookFailed, limit) {
		why := "the hooks before the lease did not end within " + limit.String() + ": " + hooks.WaitsFor
		if err := h.objects.HooksLate(ctx, sec, why); err != nil {
			return kit.Step{}, err
		}
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionBedPrepared, v1alpha1.ReasonHookFailed, why), nil
	}
	return kit.Again(h.poll), nil
}
