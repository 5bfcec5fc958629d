package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// maxEarlierRuns is the maximum number of earlier runs in a status.
const maxEarlierRuns = 8

// noticePreemption decides to return the bed when the lab asks for it. Finished rows are
// stored first; the trial in hand is broken off. The decision is stored before anything is
// removed, together with what the benchmark resumes from. A runner that is done ends the
// benchmark, or the variant, as always.
func (r *benchmarkReconciler) noticePreemption(ctx context.Context, s *scope) (step, error) {
	asked := s.bed.Status.Lease.Preemption
	if asked == nil || !s.Spec.Preemptible {
		return proceed(), nil
	}
	if s.Status.Phase == v1alpha1.PhaseRunning {
		waits, err := r.lastPoll(ctx, s)
		switch {
		case waits:
			return again(r.Poll), nil
		case notStoredNow(err):
			return step{}, err
		case err != nil:
			log.FromContext(ctx).Info("The runner did not answer before the bed was returned; rows known so far are kept", "reason", err.Error())
		}
		if h, _ := r.poller.hear(keyOf(s.Benchmark)); h.refused != nil || h.answered && h.state.Done && !h.more && h.err == nil {
			return proceed(), nil
		}
	}
	if err := r.closeParts(ctx, s); err != nil {
		return step{}, err
	}
	s.preempt(asked, r.timers.active(s.Benchmark, s.now))
	return again(soon), nil
}

// notStoredNow reports whether the API server did not take rows now, and may do so soon.
func notStoredNow(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// closeParts makes the parts of the result complete, so that the rows of the next run are in
// parts of their own. Without a row there is nothing to keep.
func (r *benchmarkReconciler) closeParts(ctx context.Context, s *scope) error {
	l, err := r.ledger(ctx, s)
	if err != nil {
		return err
	}
	if len(l.Rows()) > 0 {
		if err := l.Close(); err != nil {
			return err
		}
	}
	if err := r.store(ctx, s, l); err != nil && !refusedForGood(err) {
		return err
	}
	s.Status.Results.Digest = "" // More parts may come.
	return nil
}

// preempt decides that the bed is returned in favor of another benchmark. Active is how long
// operators have seen this one hold its beds.
func (s *scope) preempt(asked *v1alpha1.Preemption, active time.Duration) {
	rows, before := rowsStored(s), int32(0)
	if s.Status.Resumption != nil {
		before = s.Status.Resumption.Rows
	}
	s.Status.Preemption = asked.DeepCopy()
	s.Status.Preemptions++
	s.Status.Attempt++
	s.Status.EarlierRuns = append(s.Status.EarlierRuns, v1alpha1.EarlierRun{
		TestBedName: s.bed.Name, From: s.bed.Status.Lease.AcquireTime, Until: metav1.Time{Time: s.now}, Rows: rows - before, By: asked.By,
	})
	if extra := len(s.Status.EarlierRuns) - maxEarlierRuns; extra > 0 {
		s.Status.EarlierRuns = slices.Delete(s.Status.EarlierRuns, 0, extra)
	}
	s.Status.Resumption = nil
	if rows > 0 {
		next := s.Status.Variant
		if reasonOf(s.Status.Conditions, v1alpha1.ConditionDeviceReady) == v1alpha1.ReasonVariantMeasured {
			next, _ = s.Spec.VariantAfter(next)
		}
		s.Status.Resumption = &v1alpha1.Resumption{TestBedName: s.bed.Name, Variant: next, Rows: rows}
	}
	s.Status.ActiveSeconds = int64((active + time.Second - 1) / time.Second)
	s.Status.Phase = v1alpha1.PhaseCleaningUp
	s.Status.Message = bounded("everything that was started is being removed: " + s.preemptedBy())
}

// preemptedBy describes in whose favor the benchmark was last preempted, how many rows are
// kept, and where it resumes.
func (s *scope) preemptedBy() string { return preemptedBy(s.Benchmark) }

func preemptedBy(b *v1alpha1.Benchmark) string {
	text := "the benchmark was preempted"
	if n := len(b.Status.EarlierRuns); n > 0 {
		text += " in favor of " + b.Status.EarlierRuns[n-1].By
	}
	from := b.Status.Resumption
	switch {
	case from == nil:
		return text + " before a row was finished, and begins anew on any bed that it can use"
	case from.Rows == 1:
		return fmt.Sprintf("%s; 1 finished row is kept, and it resumes on bed %s", text, from.TestBedName)
	}
	return fmt.Sprintf("%s; %d finished rows are kept, and it resumes on bed %s", text, from.Rows, from.TestBedName)
}

// returnBed removes everything that a preempted benchmark has started, releases the bed, and
// only then lets the benchmark wait again. After a crash in between it does so again: until
// the status says so the allocator does not know the benchmark as one that waits.
func (r *benchmarkReconciler) returnBed(ctx context.Context, s *scope) (step, error) {
	if s.Status.Preemption == nil || s.ending() {
		return proceed(), nil
	}
	r.poller.forget(keyOf(s.Benchmark))
	left, err := r.sweep(ctx, s.run)
	if err == nil && left == "" {
		if err := r.releaseBed(ctx, s.Status.TestBedName, s.run); err != nil {
			return step{}, err
		}
		s.waitAgain()
		if err := r.patch(ctx, s, nil); err != nil {
			return step{}, err
		}
		s.before = s.DeepCopy()
		r.memory.forget(s.UID)
		r.timers.forget(keyOf(s.Benchmark)) // The time until the next lease does not count.
		return rest(), nil
	}
	if noAnswer(err) {
		return step{}, err
	}
	if err != nil {
		left = firstOf(left, "failing") + ": " + err.Error()
	}
	s.Status.Message = bounded(fmt.Sprintf("everything that was started is being removed (%s): %s", left, s.preemptedBy()))
	if next, late := s.late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonCleanUpFailed, r.Deadlines.CleanUp,
		fmt.Sprintf("%s, and the bed was not cleaned up (%s; %s)", s.preemptedBy(), left, rowsKept(s))); late {
		return next, nil
	}
	return again(r.Poll), nil
}

// keepProfileOnly drops the inputs that belong to a bed.
func (s *scope) keepProfileOnly() {
	if s.Status.Results != nil {
		s.Status.Results.Inputs = slices.DeleteFunc(slices.Clone(s.Status.Results.Inputs), func(in v1alpha1.SnapshotSource) bool {
			return in.Kind != v1alpha1.SnapshotTrafficProfile
		})
	}
}

// waitAgain makes the status that of a benchmark that waits, with what it resumes from.
func (s *scope) waitAgain() {
	s.Status.Phase, s.Status.Preemption = v1alpha1.PhaseQueued, nil
	s.Status.TestBedName, s.Status.Variant, s.Status.LeaseTime = "", "", nil
	for _, kind := range []string{v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady, v1alpha1.ConditionMeasured, v1alpha1.ConditionCleanedUp} {
		meta.RemoveStatusCondition(&s.Status.Conditions, kind)
	}
	s.set(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, v1alpha1.ReasonPreempted, s.preemptedBy())
	if s.Status.Resumption == nil {
		s.Status.StartTime, s.Status.Progress = nil, nil
		s.keepProfileOnly() // The next bed may be another one.
		return
	}
	if s.Status.Progress != nil {
		s.Status.Progress.Trial = ""
	}
}
