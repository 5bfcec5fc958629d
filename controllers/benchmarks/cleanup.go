package benchmarks

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// cleanUp removes everything once the outcome is decided and safe, releases the
// bed unless the allocator does, judges the gates, and only then sets the final phase of the benchmark. A bed that
// cannot be cleaned, or whose hook failed, is quarantined; the outcome stays what was measured.
func (e *ending) cleanUp(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if !s.Ending() {
		return kit.Proceed(), nil
	}
	left, err := e.objects.CleanUp(ctx, s.Run)
	if err != nil {
		return kit.Step{}, err
	}
	if left.What == "" {
		if err := e.calibrate(ctx, s); err != nil {
			return kit.Step{}, err
		}
		if err := e.leases.doubt(ctx, s); err != nil {
			return kit.Step{}, err
		}
		if err := e.leases.returnAll(ctx, s); err != nil {
			return kit.Step{}, err
		}
		cleaned(s, metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "nothing of the benchmark is left in the lab")
		if waits, err := e.gates.judge(ctx, s, true); err != nil || waits {
			return kit.Again(e.poll), err
		}
		return finish(s), nil
	}
	cleaned(s, metav1.ConditionFalse, v1alpha1.ReasonCleaningUp, left.What)
	if s.Decided() { // The outcome is in the status before the bed is quarantined.
		return kit.Again(e.poll), nil
	}
	if !left.Final && !s.Overdue(v1alpha1.ReasonCleanUpFailed, e.deadline+left.Allowed) {
		return kit.Again(e.poll), nil
	}
	if err := e.quarantine(ctx, s, left); err != nil {
		return kit.Step{}, err
	}
	if _, err := e.gates.judge(ctx, s, false); err != nil {
		return kit.Step{}, err
	}
	return finish(s), nil
}

// quarantine keeps the bed from being leased again. The lease stays, to show which
// benchmark left something behind. The outcome of the measurement stays as well:
// its rows are complete.
func (e *ending) quarantine(ctx context.Context, s *kit.Scope, left kit.Remains) error {
	reason, message := kit.NotCleanedUp(s.Status.Wait, left)
	held, err := kit.HeldBeds(ctx, e.client, s.Run.UID)
	if err != nil {
		return err
	}
	for i := range held {
		bed := &held[i]
		kit.SetQuarantine(bed, s.Now, s.Namespace+"/"+s.Name, reason, message)
		if _, err := kit.PatchBed(ctx, e.client, bed, map[string]any{"conditions": bed.Status.Conditions}, bed.ResourceVersion); err != nil {
			return err
		}
		e.counts.Quarantined(bed.Name)
		message = fmt.Sprintf("bed %s is quarantined: %s", bed.Name, message)
	}
	cleaned(s, metav1.ConditionFalse, reason, message)
	return nil
}

// finish makes the outcome the phase. The next reconcile removes the finalizer. The end is not before the start, even if
// the clock was set back.
func finish(s *kit.Scope) kit.Step {
	s.Status.Phase = s.Status.Outcome
	s.Status.CompletionTime = &metav1.Time{Time: s.Now}
	if start := s.Status.StartTime; s.Status.CompletionTime.Before(start) {
		s.Status.CompletionTime = start.DeepCopy()
	}
	s.Status.Preemption = nil
	s.ConcludeConditions()
	return kit.Again(kit.Soon)
}

// cleaned sets the condition without changing the message, which describes the outcome.
func cleaned(s *kit.Scope, status metav1.ConditionStatus, reason, message string) {
	kit.SetCondition(&s.Status.Conditions, s.Now, s.Generation, metav1.Condition{
		Type: v1alpha1.ConditionCleanedUp, Status: status, Reason: reason, Message: message,
	})
}
