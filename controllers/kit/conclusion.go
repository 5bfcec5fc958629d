package kit

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ConcludeConditions makes the conditions true of a finished benchmark: it has no bed, no
// device and no traffic pods any more. A reason for which the benchmark ended stays.
func (s *Scope) ConcludeConditions() {
	bed, message := v1alpha1.ReasonBedReleased, "bed "+s.Status.TestBedName+" was released"
	if s.Status.TestBedName == "" {
		bed, message = v1alpha1.ReasonEnded, "the benchmark ended before it had a bed"
		if s.Status.Preemptions > 0 {
			message += " again"
		}
	}
	removed, what := metav1.ConditionFalse, "was removed when the benchmark ended"
	reason := v1alpha1.ReasonRemoved
	switch {
	case s.IsTrue(v1alpha1.ConditionCleanedUp):
	case ReasonOf(s.Status.Conditions, v1alpha1.ConditionCleanedUp) == v1alpha1.ReasonHookFailed:
		bed, message = v1alpha1.ReasonBedQuarantined, "bed "+s.Status.TestBedName+" is quarantined: see the condition CleanedUp"
	default:
		bed, message = v1alpha1.ReasonBedQuarantined, "bed "+s.Status.TestBedName+" was not cleaned up: see the condition CleanedUp"
		removed, reason, what = metav1.ConditionUnknown, v1alpha1.ReasonCleanUpFailed, "may be left in the lab: see the condition CleanedUp"
	}
	s.conclude(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, bed, message, v1alpha1.ReasonLeaseLost)
	s.conclude(v1alpha1.ConditionBedPrepared, metav1.ConditionFalse, v1alpha1.ReasonRemoved, "the lease has ended, for which the hooks had prepared the bed", v1alpha1.ReasonHookFailed)
	s.conclude(v1alpha1.ConditionDeviceReady, removed, reason, "the device "+what, v1alpha1.ReasonDeviceFailed, v1alpha1.ReasonCleanUpFailed)
	s.conclude(v1alpha1.ConditionTrafficReady, removed, reason, "every traffic pod "+what, v1alpha1.ReasonTrafficFailed)
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionMeasured); c == nil || c.Status == metav1.ConditionUnknown {
		SetCondition(&s.Status.Conditions, s.Now, s.Generation, metav1.Condition{
			Type: v1alpha1.ConditionMeasured, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEnded,
			Message: "the benchmark ended before everything was measured",
		})
	}
}

// conclude sets a condition that was ever set, unless it is false for one of the
// reasons to keep.
func (s *Scope) conclude(kind string, status metav1.ConditionStatus, reason, message string, keep ...string) {
	c := meta.FindStatusCondition(s.Status.Conditions, kind)
	if c == nil || c.Status == metav1.ConditionFalse && slices.Contains(keep, c.Reason) {
		return
	}
	SetCondition(&s.Status.Conditions, s.Now, s.Generation, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// StallAfter is the time for which something has to be wrong before a benchmark or a bed
// counts as stalled: a bed that is edited is not ready for a moment.
const StallAfter = time.Minute

// doing describes what happens in a phase.
var doing = map[v1alpha1.BenchmarkPhase]string{
	v1alpha1.PhasePending:    "the benchmark is being checked",
	v1alpha1.PhaseQueued:     "the benchmark waits for a bed",
	v1alpha1.PhasePreparing:  "device and traffic pods are being started",
	v1alpha1.PhaseRunning:    "trials run",
	v1alpha1.PhaseCleaningUp: "everything that was started is being removed",
}

// Summarize sets the conditions Succeeded, Reconciling and Stalled of a benchmark
// from its phase and its other conditions. It returns when the benchmark will count
// as stalled unless something changes, 0 when it will not.
func Summarize(b *v1alpha1.Benchmark, now time.Time) time.Duration {
	all, phase := &b.Status.Conditions, b.Status.Phase
	if phase == "" {
		phase = v1alpha1.PhasePending
	}
	succeeded := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(phase), Message: doing[phase]}
	if !phase.Finished() {
		SetCondition(all, now, b.Generation, succeeded)
		reason, message := stuck(b)
		return progressing(all, now, b.Generation, string(phase), doing[phase], reason, message)
	}
	succeeded.Status, succeeded.Message = metav1.ConditionFalse, b.Status.Message
	meta.RemoveStatusCondition(all, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
	if phase.Succeeded() {
		succeeded.Status = metav1.ConditionTrue
	} else {
		SetCondition(all, now, b.Generation, metav1.Condition{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(phase), Message: b.Status.Message,
		})
	}
	SetCondition(all, now, b.Generation, succeeded)
	return 0
}

// stuck returns the reason why a waiting benchmark cannot continue without user action; an
// empty reason means that it can.
func stuck(b *v1alpha1.Benchmark) (reason, message string) {
	if b.Status.Outcome != "" || b.Status.TestBedName != "" {
		return "", ""
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
	if c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason, c.Message
	}
	c = meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionBedLeased)
	if c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonBedNotReady {
		return c.Reason, c.Message
	}
	return "", ""
}

// SummarizeBed sets the conditions Reconciling and Stalled of a bed from the others.
// It returns when the bed will count as stalled unless something changes.
func SummarizeBed(bed *v1alpha1.TestBed, now time.Time) time.Duration {
	all := &bed.Status.Conditions
	ready := meta.FindStatusCondition(*all, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return progressing(all, now, bed.Generation, v1alpha1.ReasonChecking, "the bed is being checked", "", "")
	case ready.Reason == v1alpha1.ReasonBedDeleted:
		return progressing(all, now, bed.Generation, ready.Reason, ready.Message, "", "")
	case ready.Status != metav1.ConditionTrue:
		return progressing(all, now, bed.Generation, v1alpha1.ReasonChecking, "the bed is checked again until it is ready", ready.Reason, ready.Message)
	}
	if c := meta.FindStatusCondition(*all, v1alpha1.ConditionQuarantined); c != nil {
		return progressing(all, now, bed.Generation, c.Reason, c.Message, "", "")
	}
	meta.RemoveStatusCondition(all, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
	return 0
}

// StallsIn returns the time until a benchmark counts as stalled, if something has been wrong
// with it for a shorter time.
func StallsIn(b *v1alpha1.Benchmark, now time.Time) (left time.Duration, waits bool) {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionFalse {
		return 0, false
	}
	return c.LastTransitionTime.Add(StallAfter).Sub(now), true
}

// progressing sets Reconciling and Stalled of an object that is not settled, of
// which one is true. Stalled keeps since when something is wrong.
func progressing(all *[]metav1.Condition, now time.Time, generation int64, phase, what, reason, message string) time.Duration {
	reconciling := metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: phase, Message: what}
	if reason == "" {
		meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
		SetCondition(all, now, generation, reconciling)
		return 0
	}
	stalled := metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	left := StallAfter
	if c := meta.FindStatusCondition(*all, v1alpha1.ConditionStalled); c != nil {
		left = c.LastTransitionTime.Add(StallAfter).Sub(now)
		if c.Status == metav1.ConditionTrue {
			left = 0
		}
	}
	if left <= 0 {
		stalled.Status = metav1.ConditionTrue
		meta.RemoveStatusCondition(all, v1alpha1.ConditionReconciling)
	} else {
		SetCondition(all, now, generation, reconciling)
	}
	SetCondition(all, now, generation, stalled)
	return max(left, 0)
}
