package benchmarks

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// leases takes over the beds that the allocator has leased to benchmarks, checks that they keep
// them, and returns them.
type leases struct {
	client client.Client
	// live reads from the API server.
	live client.Reader
	// archive is where results go later; nil without one.
	archive    kit.Archive
	statuses   kit.StatusWriter
	resumption *resumption
	// poll is the pause between two checks of a gang.
	poll time.Duration
}

// take takes over the bed that the allocator leased. The bed is stored in the status
// before anything is started, with the names of the inputs that are kept first: see kit.Scope.TakesOver. In a lab with an archive the benchmark gets the finalizer of the archive before.
func (ls *leases) take(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Status.TestBedName != "" {
		return ls.keep(ctx, s)
	}
	bed, err := ls.leased(ctx, s.Benchmark)
	if err != nil || bed == nil {
		return kit.Rest(), err // The allocator handles those that wait.
	}
	alone, err := ls.alone(ctx, bed)
	if err != nil {
		return kit.Rest(), err
	}
	// Kueue may have evicted it while the lease was written.
	if !alone || kit.IsHeld(s.Benchmark) || returnable(s, bed) {
		return kit.Rest(), ls.handBack(ctx, s, bed.Name)
	}
	if whole, err := ls.wholeGang(ctx, s); err != nil || !whole {
		return kit.Again(ls.poll), err
	}
	if ls.archive != nil {
		if err := kit.HoldForArchive(ctx, ls.client, s.Benchmark); err != nil {
			return kit.Step{}, err
		}
	}
	s.Bed = bed
	if s.Status.Resumption == nil {
		s.Status.StartTime = bed.Status.Lease.AcquireTime.DeepCopy()
	} else if err := ls.resumption.resume(ctx, s, bed); err != nil {
		return kit.Step{}, err
	}
	if s.Status.Preemptions > 0 {
		s.Status.LeaseTime = bed.Status.Lease.AcquireTime.DeepCopy()
	}
	s.Status.TestBedName = bed.Name
	s.Status.Phase = v1alpha1.PhasePreparing
	s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, kit.AcceptedMessage)
	s.Set(v1alpha1.ConditionBedLeased, metav1.ConditionTrue, v1alpha1.ReasonBedLeased, "has bed "+bed.Name)
	s.Status.Message = "has bed " + bed.Name
	return kit.Proceed(), nil
}

// alone reports whether no bed is leased that shares an interface with a bed whose lease
// was just written. The API server guards each bed for itself. Of two operators that
// both believe to lead and lease such beds, each writes before it reads, so that at
// least one of them sees the other's lease.
func (ls *leases) alone(ctx context.Context, bed *v1alpha1.TestBed) (bool, error) {
	var beds v1alpha1.TestBedList
	if err := ls.client.List(ctx, &beds); err != nil {
		return false, fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		other := &beds.Items[i]
		if other.Name == bed.Name || kit.Shared(bed, other) == "" {
			continue
		}
		err := ls.live.Get(ctx, client.ObjectKeyFromObject(other), other)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading test bed %s: %w", other.Name, err)
		}
		if err == nil && other.Status.Lease != nil {
			return false, nil
		}
	}
	return true, nil
}

// leased returns the bed that the present attempt of a benchmark has; nil when it has none. Leases of
// earlier attempts are removed: who ended those may not live any more.
func (ls *leases) leased(ctx context.Context, b *v1alpha1.Benchmark) (*v1alpha1.TestBed, error) {
	held, err := kit.HeldBeds(ctx, ls.client, string(b.UID))
	if err != nil {
		return nil, err
	}
	for i := range held {
		bed := &v1alpha1.TestBed{}
		err := ls.live.Get(ctx, client.ObjectKeyFromObject(&held[i]), bed)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading test bed %s: %w", held[i].Name, err)
		}
		if kit.HasLease(bed, labobjects.RunOf(b)) {
			return bed, nil
		}
		// One of a later attempt stays: the benchmark was read before it.
		if l := bed.Status.Lease; l != nil && l.UID == string(b.UID) && l.Attempt < b.Status.Attempt {
			if err := kit.ReleaseBed(ctx, ls.client, ls.live, bed.Name, kit.RunOf(l)); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// handBack returns a bed on which nothing was started. The end of the attempt is stored first:
// the test of its number lets only one happen, that the benchmark takes the lease over or that the
// lease goes.
func (ls *leases) handBack(ctx context.Context, s *kit.Scope, bed string) error {
	s.Status.Attempt++
	if err := ls.statuses.Store(ctx, s, nil); err != nil {
		return err
	}
	s.Before = s.DeepCopy()
	return kit.ReleaseBed(ctx, ls.client, ls.live, bed, s.Run)
}

// keep makes sure that the benchmark still has the bed. When the cache does not show
// the lease, the API server decides: the cache may be behind.
func (ls *leases) keep(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	s.Bed = &v1alpha1.TestBed{}
	key := client.ObjectKey{Name: s.Status.TestBedName}
	if err := ls.client.Get(ctx, key, s.Bed); err == nil && kit.HasLease(s.Bed, s.Run) {
		return endOfLease(s), nil
	}
	s.Bed = &v1alpha1.TestBed{}
	err := ls.live.Get(ctx, key, s.Bed)
	if client.IgnoreNotFound(err) != nil {
		return kit.Step{}, fmt.Errorf("reading test bed %s: %w", s.Status.TestBedName, err)
	}
	if err != nil || !kit.HasLease(s.Bed, s.Run) {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionBedLeased, v1alpha1.ReasonLeaseLost, fmt.Sprintf(
			"bed %s was taken away while the benchmark had it: the bed or its lease was removed by force", s.Status.TestBedName)), nil
	}
	return endOfLease(s), nil
}

// endOfLease ends a benchmark whose lease was ended, since it did not return the bed in time:
// nothing more is started on the bed.
func endOfLease(s *kit.Scope) kit.Step {
	end := s.Bed.Status.Lease.End
	if end == nil {
		return kit.Proceed()
	}
	outcome := v1alpha1.PhaseError
	switch end.Reason {
	case v1alpha1.ReasonDeadlineExceeded:
		outcome = v1alpha1.PhaseInvalid
	case v1alpha1.ReasonAborted:
		outcome = v1alpha1.PhaseAborted
	}
	return s.End(outcome, v1alpha1.ConditionMeasured, end.Reason, fmt.Sprintf(
		"bed %s was taken back, since it was not returned in time (%s); %s", s.Bed.Name, end.Reason, rowsKept(s)))
}

// waitAnew releases the bed of a benchmark for which nothing was started: what it needs
// was removed since the allocator judged it. The allocator handles it from then on.
func (ls *leases) waitAnew(ctx context.Context, s *kit.Scope) error {
	bed := s.Status.TestBedName
	s.Status = v1alpha1.BenchmarkStatus{
		Phase: v1alpha1.PhasePending, ObservedGeneration: s.Generation, Attempt: s.Status.Attempt,
		Preemptions: s.Status.Preemptions, EarlierRuns: s.Status.EarlierRuns, ActiveSeconds: s.Status.ActiveSeconds,
	}
	s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, fmt.Sprintf(
		"TrafficProfile %s was deleted before anything was started on bed %s: apply it again", s.Spec.TrafficProfileName, bed))
	return ls.handBack(ctx, s, bed)
}

// doubt lets the bed be probed before its next lease if the traffic pods of the benchmark did not
// come up on it. It is called while the benchmark has the bed.
func (ls *leases) doubt(ctx context.Context, s *kit.Scope) error {
	if s.Status.TestBedName == "" || !failedTraffic(s) {
		return nil
	}
	bed := &v1alpha1.TestBed{}
	err := ls.live.Get(ctx, client.ObjectKey{Name: s.Status.TestBedName}, bed)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading test bed %s: %w", s.Status.TestBedName, err)
	}
	if bed.Status.Health == nil || bed.Status.Health.Doubted || !kit.HasLease(bed, s.Run) {
		return nil
	}
	_, err = kit.PatchBed(ctx, ls.client, bed, map[string]any{"health": map[string]any{"doubted": true}}, bed.ResourceVersion)
	return err
}

// failedTraffic reports whether the traffic pods of the benchmark did not come up.
func failedTraffic(s *kit.Scope) bool {
	return kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonTrafficFailed
}

// returnAll releases the bed that a benchmark had when it ended, and every other one that the
// cache knows; normally there are no others. A bed that others wait for is left to the allocator, which
// leases it to the next one when it sees the last phase of the benchmark. The outcome is in the status before
// a bed is released: until then another operator may start something on it.
func (ls *leases) returnAll(ctx context.Context, s *kit.Scope) error {
	held, err := kit.HeldBeds(ctx, ls.client, s.Run.UID)
	if err != nil {
		return err
	}
	runs := map[string]labobjects.Run{}
	passedOn := false
	for i := range held {
		bed := &held[i]
		if bed.Name == s.Status.TestBedName && isPassedOn(s, bed) {
			passedOn = true
			continue
		}
		runs[bed.Name] = kit.RunOf(bed.Status.Lease)
	}
	if s.Status.TestBedName != "" && !passedOn {
		runs[s.Status.TestBedName] = s.Run
	}
	if len(runs) > 0 && s.Decided() {
		if err := ls.statuses.Store(ctx, s, nil); err != nil {
			return err
		}
		s.Before = s.DeepCopy()
	}
	for bed, run := range runs {
		if err := kit.ReleaseBed(ctx, ls.client, ls.live, bed, run); err != nil {
			return err
		}
	}
	return nil
}

// isPassedOn reports whether the allocator takes the bed of a benchmark that has ended for another
// one. Gates are judged before the last phase, and may wait for their baselines; the bed does not. A bed that is doubted
// is released, also if the cache does not know of the doubt yet: the allocator learns of both in their order.
func isPassedOn(s *kit.Scope, bed *v1alpha1.TestBed) bool {
	return bed.Status.Queued > 0 && kit.IsOpen(bed) && kit.Releasable(bed) && kit.HasLease(bed, s.Run) &&
		(bed.Status.Health == nil || !bed.Status.Health.Doubted) && !failedTraffic(s) && len(s.Spec.Gates) == 0 && s.DeletionTimestamp.IsZero()
}
