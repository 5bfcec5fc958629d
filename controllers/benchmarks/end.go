package benchmarks

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// noticeEnd ends a benchmark that was deleted or aborted, or that has had its bed for
// too long. What was measured until now is fetched first.
func (r *Reconciler) noticeEnd(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Ending() {
		return kit.Proceed(), nil
	}
	reason, message := endReason(s)
	if reason == "" {
		return kit.Proceed(), nil
	}
	if s.Status.Phase == v1alpha1.PhaseRunning {
		waits, err := r.lastPoll(ctx, s)
		if waits {
			return kit.Again(r.Poll), nil
		}
		if err != nil {
			log.FromContext(ctx).Info("The runner did not answer before the end; rows known so far are kept", "reason", err.Error())
		}
	}
	outcome := v1alpha1.PhaseAborted
	if reason == v1alpha1.ReasonDeadlineExceeded {
		outcome = v1alpha1.PhaseInvalid // The benchmark set the limit: the lab did not fail.
	}
	return s.End(outcome, v1alpha1.ConditionMeasured, reason, fmt.Sprintf("%s; %s", message, rowsKept(s))), nil
}

// endReason returns the reason why the benchmark has to end now, or "" if it may continue.
func endReason(s *kit.Scope) (reason, message string) {
	limit := time.Duration(s.Spec.ActiveDeadlineSeconds) * time.Second
	switch {
	case !s.DeletionTimestamp.IsZero():
		return v1alpha1.ReasonAborted, "the benchmark was deleted"
	case s.Spec.Abort:
		return v1alpha1.ReasonAborted, "spec.abort was set"
	case s.Status.StartTime != nil && s.Status.Preemption == nil && limit > 0 && s.Timers.Active(s.Benchmark, s.Now) >= limit:
		return v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf(
			"the benchmark had its bed for the whole of spec.activeDeadlineSeconds, %d, and was not over: raise it, or ask for less", s.Spec.ActiveDeadlineSeconds)
	}
	return "", ""
}

func rowsKept(s *kit.Scope) string {
	switch n := rowsStored(s); n {
	case 0:
		return "no row was finished"
	case 1:
		return "1 finished row is kept"
	default:
		return fmt.Sprintf("%d finished rows are kept", n)
	}
}

// rowsStored returns the number of stored rows.
func rowsStored(s *kit.Scope) int32 {
	if s.Status.Results == nil {
		return 0
	}
	return s.Status.Results.Rows
}
