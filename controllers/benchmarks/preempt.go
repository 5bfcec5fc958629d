package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// maxEarlierRuns is the maximum number of earlier runs in a status.
const maxEarlierRuns = 8

// preemption returns beds that the lab asks for.
type preemption struct {
	client client.Client
	// live reads from the API server.
	live      client.Reader
	objects   kit.RunObjects
	statuses  kit.StatusWriter
	poller    *Poller
	intake    *intake
	ledgers   *ledgers
	snapshots *snapshots
	// deadline is the time that the clean-up may take.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// notice decides to return the bed when the lab asks for it. Finished rows are
// stored first; the trial in hand is broken off. The decision is stored before anything is
// removed, together with what the benchmark resumes from. A runner that is done ends the
// benchmark, or the variant, as always.
func (p *preemption) notice(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	asked := s.Bed.Status.Lease.Preemption
	if asked == nil || !s.Spec.Preemptible {
		return kit.Proceed(), nil
	}
	if s.Status.Phase == v1alpha1.PhaseRunning {
		waits, err := p.intake.lastPoll(ctx, s)
		switch {
		case waits:
			return kit.Again(p.poll), nil
		case notStoredNow(err):
			return kit.Step{}, err
		case err != nil:
			log.FromContext(ctx).Info("The runner did not answer before the bed was returned; rows known so far are kept", "reason", err.Error())
		}
		if h, _ := p.poller.hear(keyOf(s.Benchmark)); h.refused != nil || h.answered && h.state.Done && !h.more && h.err == nil {
			return kit.Proceed(), nil
		}
	}
	if err := p.ledgers.closeParts(ctx, s); err != nil {
		return kit.Step{}, err
	}
	preempt(s, asked, s.Timers.Active(s.Benchmark, s.Now))
	return kit.Again(kit.Soon), nil
}

// notStoredNow reports whether the API server did not take rows now, and may do so soon.
func notStoredNow(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// preempt decides that the bed is returned in favor of another benchmark. Active is how long
// operators have seen this one hold its beds.
func preempt(s *kit.Scope, asked *v1alpha1.Preemption, active time.Duration) {
	rows, before := rowsStored(s), int32(0)
	if s.Status.Resumption != nil {
		before = s.Status.Resumption.Rows
	}
	s.Status.Preemption = asked.DeepCopy()
	s.Status.Preemptions++
	s.Status.Attempt++
	s.Status.EarlierRuns = append(s.Status.EarlierRuns, v1alpha1.EarlierRun{
		TestBedName: s.Bed.Name, From: s.Bed.Status.Lease.AcquireTime, Until: metav1.Time{Time: s.Now}, Rows: rows - before, By: asked.By,
	})
	if extra := len(s.Status.EarlierRuns) - maxEarlierRuns; extra > 0 {
		s.Status.EarlierRuns = slices.Delete(s.Status.EarlierRuns, 0, extra)
	}
	s.Status.Resumption = nil
	if rows > 0 {
		next := s.Status.Variant
		if kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionDeviceReady) == v1alpha1.ReasonVariantMeasured {
			next, _ = s.Spec.VariantAfter(next)
		}
		s.Status.Resumption = &v1alpha1.Resumption{TestBedName: s.Bed.Name, Variant: next, Rows: rows}
	}
	s.Status.ActiveSeconds = int64((active + time.Second - 1) / time.Second)
	s.Status.Phase = v1alpha1.PhaseCleaningUp
	s.Status.Message = kit.Bounded("everything that was started is being removed: " + s.PreemptedBy())
}

// returnBed removes everything that a preempted benchmark has started, releases the bed, and
// only then lets the benchmark wait again. After a crash in between it does so again: until
// the status says so the allocator does not know the benchmark as one that waits.
func (p *preemption) returnBed(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Status.Preemption == nil || s.Ending() {
		return kit.Proceed(), nil
	}
	p.poller.forget(keyOf(s.Benchmark))
	left, err := p.objects.CleanUp(ctx, s.Run)
	if err != nil {
		return kit.Step{}, err
	}
	if left.What == "" {
		if err := kit.ReleaseBed(ctx, p.client, p.live, s.Status.TestBedName, s.Run); err != nil {
			return kit.Step{}, err
		}
		waitAgain(s)
		if err := p.statuses.Store(ctx, s, nil); err != nil {
			return kit.Step{}, err
		}
		s.Before = s.DeepCopy()
		p.ledgers.forget(keyOf(s.Benchmark))
		p.snapshots.forget(keyOf(s.Benchmark))
		s.Timers.Forget(keyOf(s.Benchmark)) // The time until the next lease does not count.
		return kit.Rest(), nil
	}
	s.Status.Message = kit.Bounded(fmt.Sprintf("everything that was started is being removed (%s): %s", left.What, s.PreemptedBy()))
	if left.Final {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionBedPrepared, v1alpha1.ReasonHookFailed,
			fmt.Sprintf("%s, and the bed was not returned: %s; %s", s.PreemptedBy(), left.What, rowsKept(s))), nil
	}
	if next, late := s.Late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonCleanUpFailed, p.deadline+left.Allowed,
		fmt.Sprintf("%s, and the bed was not cleaned up (%s; %s)", s.PreemptedBy(), left.What, rowsKept(s))); late {
		return next, nil
	}
	return kit.Again(p.poll), nil
}

// keepProfileOnly drops the inputs that belong to a bed.
func keepProfileOnly(s *kit.Scope) {
	if s.Status.Results != nil {
		s.Status.Results.Inputs = slices.DeleteFunc(slices.Clone(s.Status.Results.Inputs), func(in v1alpha1.SnapshotSource) bool {
			return in.Kind != v1alpha1.SnapshotTrafficProfile
		})
	}
}

// waitAgain makes the status that of a benchmark that waits, with what it resumes from.
func waitAgain(s *kit.Scope) {
	s.Status.Phase, s.Status.Preemption = v1alpha1.PhaseQueued, nil
	s.Status.TestBedName, s.Status.Variant, s.Status.LeaseTime = "", "", nil
	for _, kind := range []string{v1alpha1.ConditionBedPrepared, v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady, v1alpha1.ConditionMeasured, v1alpha1.ConditionCleanedUp} {
		meta.RemoveStatusCondition(&s.Status.Conditions, kind)
	}
	s.Set(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, v1alpha1.ReasonPreempted, s.PreemptedBy())
	if s.Status.Resumption == nil {
		s.Status.StartTime, s.Status.Progress = nil, nil
		keepProfileOnly(s) // The next bed may be another one.
		return
	}
	if s.Status.Progress != nil {
		s.Status.Progress.Trial, s.Status.Progress.RowTrials, s.Status.Progress.Rates = "", nil, nil
	}
}
