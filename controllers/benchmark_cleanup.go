package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cleanUp removes everything once the outcome is decided and stored, releases the
// bed, judges the gates, and only then sets the final phase of the benchmark. A bed that
// cannot be cleaned is quarantined; the outcome stays what was measured.
func (r *benchmarkReconciler) cleanUp(ctx context.Context, s *scope) (step, error) {
	if !s.ending() {
		return proceed(), nil
	}
	left, err := r.sweep(ctx, s.run)
	if err == nil && left == "" {
		if err := r.calibrate(ctx, s); err != nil {
			return step{}, err
		}
		if err := r.releaseAll(ctx, s); err != nil {
			return step{}, err
		}
		s.cleaned(metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "nothing of the benchmark is left in the lab")
		if waits, err := r.judgeGates(ctx, s, true); err != nil || waits {
			return again(r.Poll), err
		}
		return s.finish(), nil
	}
	if noAnswer(err) {
		return step{}, err
	}
	if err != nil {
		left = firstOf(left, "failing") + ": " + err.Error()
	}
	s.cleaned(metav1.ConditionFalse, v1alpha1.ReasonCleaningUp, left)
	if !s.overdue(v1alpha1.ReasonCleanUpFailed, r.Deadlines.CleanUp) {
		return again(r.Poll), nil
	}
	if err := r.quarantine(ctx, s, left); err != nil {
		return step{}, err
	}
	if _, err := r.judgeGates(ctx, s, false); err != nil {
		return step{}, err
	}
	return s.finish(), nil
}

// noAnswer reports whether a failure is about reaching the API server: it does not show
// whether anything is left in the lab, and does not count as an attempt to clean up.
func noAnswer(err error) bool {
	if err == nil {
		return false
	}
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &network) ||
		apierrors.IsConflict(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// quarantine keeps the bed from being leased again. The lease stays, to show which
// benchmark left something behind. The outcome of the measurement stays as well:
// its rows are complete.
func (r *benchmarkReconciler) quarantine(ctx context.Context, s *scope, left string) error {
	message := notCleanedUp(s.Status.Wait, left)
	held, err := r.heldBeds(ctx, s.run.UID)
	if err != nil {
		return err
	}
	for i := range held {
		bed := &held[i]
		setQuarantine(bed, s.now, s.Namespace+"/"+s.Name, message)
		if _, err := r.patchBed(ctx, bed, map[string]any{"conditions": bed.Status.Conditions}, bed.ResourceVersion); err != nil {
			return err
		}
		r.Counts.Quarantined(bed.Name)
		message = fmt.Sprintf("bed %s is quarantined: %s", bed.Name, message)
	}
	s.cleaned(metav1.ConditionFalse, v1alpha1.ReasonCleanUpFailed, message)
	return nil
}

// notCleanedUp describes how long a clean-up was tried, and what is left.
func notCleanedUp(w *v1alpha1.Wait, left string) string {
	return fmt.Sprintf("not cleaned up by %d attempts in %s: %s", w.Attempts, seconds(w.Seconds), left)
}

// finish makes the outcome the phase. The next reconcile removes the finalizer.
func (s *scope) finish() step {
	s.Status.Phase = s.Status.Outcome
	s.Status.CompletionTime = &metav1.Time{Time: s.now}
	s.Status.Preemption = nil
	s.concludeConditions()
	return again(soon)
}

// cleaned sets the condition without changing the message, which describes the outcome.
func (s *scope) cleaned(status metav1.ConditionStatus, reason, message string) {
	setCondition(&s.Status.Conditions, s.now, s.Generation, metav1.Condition{
		Type: v1alpha1.ConditionCleanedUp, Status: status, Reason: reason, Message: message,
	})
}
