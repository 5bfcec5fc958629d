package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cleanUp removes everything once the outcome is decided and stored, gives the
// bed back, and only then lets the benchmark be what it ended as. A bed that
// does not get clean in time is quarantined.
func (r *benchmarkReconciler) cleanUp(ctx context.Context, s *scope) (step, error) {
	if !s.ending() {
		return proceed(), nil
	}
	left, err := r.sweep(ctx, s.run)
	if err == nil && left == "" {
		if err := r.calibrate(ctx, s); err != nil {
			return step{}, err
		}
		if err := r.release(ctx, s.run.UID); err != nil {
			return step{}, err
		}
		s.cleaned(metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "nothing of the benchmark is left in the lab")
		return finish(s), nil
	}
	if err != nil {
		left = firstOf(left, "failing") + ": " + err.Error()
	}
	s.cleaned(metav1.ConditionFalse, v1alpha1.ReasonCleaningUp, left)
	if s.elapsed(v1alpha1.ConditionCleanedUp) < r.Deadlines.CleanUp {
		return again(r.Poll), nil
	}
	if err := r.quarantine(ctx, s, left); err != nil {
		return step{}, err
	}
	return finish(s), nil
}

// quarantine keeps the bed from being handed on. The lease stays, to tell which
// benchmark left something behind.
func (r *benchmarkReconciler) quarantine(ctx context.Context, s *scope, left string) error {
	message := fmt.Sprintf("not cleaned up within %s: %s", r.Deadlines.CleanUp, left)
	var beds v1alpha1.TestBedList
	if err := r.live.List(ctx, &beds); err != nil {
		return fmt.Errorf("listing test beds: %w", err)
	}
	if bed := heldBy(beds.Items, s.run.UID); bed != nil {
		setQuarantine(bed, r.Now(), s.Namespace+"/"+s.Name, message)
		if err := r.Client.Status().Update(ctx, bed); err != nil {
			return fmt.Errorf("quarantining test bed %s: %w", bed.Name, err)
		}
		message = fmt.Sprintf("bed %s is quarantined: %s", bed.Name, message)
	}
	s.Status.Message = fmt.Sprintf("%s (measurement: %s)", message, firstOf(s.Status.Message, string(s.Status.Outcome)))
	s.Status.Outcome = v1alpha1.PhaseError
	s.cleaned(metav1.ConditionFalse, v1alpha1.ReasonCleanUpFailed, message)
	return nil
}

// finish makes the outcome the phase. The next look removes the finalizer.
func finish(s *scope) step {
	s.Status.Phase = s.Status.Outcome
	s.Status.CompletionTime = &metav1.Time{Time: s.now}
	if isTrue(s.Status.Conditions, v1alpha1.ConditionBedLeased) {
		setCondition(&s.Status.Conditions, s.now, s.Generation, metav1.Condition{
			Type: v1alpha1.ConditionBedLeased, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonBedReleased, Message: "bed " + s.Status.TestBedName + " was given back",
		})
	}
	if reasonOf(s.Status.Conditions, v1alpha1.ConditionMeasured) == v1alpha1.ReasonMeasuring {
		// The measurement ended with something else than a result.
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionMeasured)
	}
	return again(soon)
}

// cleaned sets the condition without touching the message, which tells the
// outcome.
func (s *scope) cleaned(status metav1.ConditionStatus, reason, message string) {
	setCondition(&s.Status.Conditions, s.now, s.Generation, metav1.Condition{
		Type: v1alpha1.ConditionCleanedUp, Status: status, Reason: reason, Message: message,
	})
}
