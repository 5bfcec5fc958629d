package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
)

// indexLease is the index of beds by the UID of the benchmark that has them.
const indexLease = "status.lease.uid"

func leaseUID(o client.Object) []string {
	if bed, ok := o.(*v1alpha1.TestBed); ok && bed.Status.Lease != nil {
		return []string{bed.Status.Lease.UID}
	}
	return nil
}

// heldBeds returns the beds that a benchmark has, as the cache knows them.
func (b *base) heldBeds(ctx context.Context, uid string) ([]v1alpha1.TestBed, error) {
	var beds v1alpha1.TestBedList
	if err := b.List(ctx, &beds, client.MatchingFields{indexLease: uid}); err != nil {
		return nil, fmt.Errorf("listing the beds of a benchmark: %w", err)
	}
	return beds.Items, nil
}

// lease takes over the bed that the allocator leased. The bed is stored in the status
// before anything is started.
func (r *benchmarkReconciler) lease(ctx context.Context, s *scope) (step, error) {
	if s.Status.TestBedName != "" {
		return r.keepLease(ctx, s)
	}
	bed, err := r.leased(ctx, s.Benchmark)
	if err != nil || bed == nil {
		return rest(), err // The allocator handles those that wait.
	}
	alone, err := r.alone(ctx, bed)
	if err != nil {
		return rest(), err
	}
	// Kueue may have evicted it while the lease was written.
	if !alone || isHeld(s.Benchmark) || s.returnable(bed) {
		return rest(), r.handBack(ctx, s, bed.Name)
	}
	if whole, err := r.wholeGang(ctx, s); err != nil || !whole {
		return again(r.Poll), err
	}
	s.bed = bed
	if s.Status.Resumption == nil {
		s.Status.StartTime = bed.Status.Lease.AcquireTime.DeepCopy()
	} else if err := r.resume(ctx, s, bed); err != nil {
		return step{}, err
	}
	if s.Status.Preemptions > 0 {
		s.Status.LeaseTime = bed.Status.Lease.AcquireTime.DeepCopy()
	}
	s.Status.TestBedName = bed.Name
	s.Status.EstimatedStartTime, s.Status.EstimateChange = nil, ""
	s.Status.Phase = v1alpha1.PhasePreparing
	s.set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, acceptedMessage)
	s.set(v1alpha1.ConditionBedLeased, metav1.ConditionTrue, v1alpha1.ReasonBedLeased, "has bed "+bed.Name)
	s.Status.Message = "has bed " + bed.Name
	if err := r.patch(ctx, s, nil); err != nil {
		return step{}, err
	}
	s.before = s.DeepCopy()
	return proceed(), nil
}

// acceptedMessage is the message of the condition Accepted.
const acceptedMessage = "profile, bed and tests fit together"

// alone reports whether no bed is leased that shares an interface with a bed whose lease
// was just written. The API server guards each bed for itself. Of two operators that
// both believe to lead and lease such beds, each writes before it reads, so that at
// least one of them sees the other's lease.
func (r *benchmarkReconciler) alone(ctx context.Context, bed *v1alpha1.TestBed) (bool, error) {
	var beds v1alpha1.TestBedList
	if err := r.List(ctx, &beds); err != nil {
		return false, fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		other := &beds.Items[i]
		if other.Name == bed.Name || sharedInterface(bed, other) == "" {
			continue
		}
		err := r.live.Get(ctx, client.ObjectKeyFromObject(other), other)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading test bed %s: %w", other.Name, err)
		}
		if err == nil && other.Status.Lease != nil {
			return false, nil
		}
	}
	return true, nil
}

// hasLease reports whether a bed is leased to a run.
func hasLease(bed *v1alpha1.TestBed, run lab.Run) bool {
	return bed.Status.Lease != nil && runOf(bed.Status.Lease) == (lab.Run{UID: run.UID, Attempt: run.Attempt})
}

// runOf is the run that a lease is for, without the name of the benchmark.
func runOf(l *v1alpha1.BedLease) lab.Run { return lab.Run{UID: l.UID, Attempt: l.Attempt} }

// leased is the bed that the present attempt of a benchmark has; nil when it has none. Leases of
// earlier attempts are removed: who ended those may not live any more.
func (r *benchmarkReconciler) leased(ctx context.Context, b *v1alpha1.Benchmark) (*v1alpha1.TestBed, error) {
	held, err := r.heldBeds(ctx, string(b.UID))
	if err != nil {
		return nil, err
	}
	for i := range held {
		bed := &v1alpha1.TestBed{}
		err := r.live.Get(ctx, client.ObjectKeyFromObject(&held[i]), bed)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading test bed %s: %w", held[i].Name, err)
		}
		if hasLease(bed, lab.RunOf(b)) {
			return bed, nil
		}
		// One of a later attempt stays: the benchmark was read before it.
		if l := bed.Status.Lease; l != nil && l.UID == string(b.UID) && l.Attempt < b.Status.Attempt {
			if err := r.releaseBed(ctx, bed.Name, runOf(l)); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// handBack returns a bed on which nothing was started. The end of the attempt is stored first:
// the optimistic lock lets only one happen, that the benchmark takes the lease over or that the
// lease goes.
func (r *benchmarkReconciler) handBack(ctx context.Context, s *scope, bed string) error {
	s.Status.Attempt++
	if err := r.patch(ctx, s, nil); err != nil {
		return err
	}
	s.before = s.DeepCopy()
	return r.releaseBed(ctx, bed, s.run)
}

// keepLease makes sure that the benchmark still has the bed. When the cache does not show
// the lease, the API server decides: the cache may be behind.
func (r *benchmarkReconciler) keepLease(ctx context.Context, s *scope) (step, error) {
	s.bed = &v1alpha1.TestBed{}
	key := client.ObjectKey{Name: s.Status.TestBedName}
	if err := r.Get(ctx, key, s.bed); err == nil && hasLease(s.bed, s.run) {
		return proceed(), nil
	}
	s.bed = &v1alpha1.TestBed{}
	err := r.live.Get(ctx, key, s.bed)
	if client.IgnoreNotFound(err) != nil {
		return step{}, fmt.Errorf("reading test bed %s: %w", s.Status.TestBedName, err)
	}
	if err != nil || !hasLease(s.bed, s.run) {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionBedLeased, v1alpha1.ReasonLeaseLost, fmt.Sprintf(
			"bed %s was taken away while the benchmark had it: the bed or its lease was removed by force", s.Status.TestBedName)), nil
	}
	return proceed(), nil
}

// waitAnew releases the bed of a benchmark for which nothing was started: what it needs
// was removed since the allocator judged it. The allocator handles it from then on.
func (r *benchmarkReconciler) waitAnew(ctx context.Context, s *scope) error {
	bed := s.Status.TestBedName
	s.Status = v1alpha1.BenchmarkStatus{
		Phase: v1alpha1.PhasePending, ObservedGeneration: s.Generation, Attempt: s.Status.Attempt,
		Preemptions: s.Status.Preemptions, EarlierRuns: s.Status.EarlierRuns, ActiveSeconds: s.Status.ActiveSeconds,
	}
	s.set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, fmt.Sprintf(
		"TrafficProfile %s was deleted before anything was started on bed %s: apply it again", s.Spec.TrafficProfileName, bed))
	return r.handBack(ctx, s, bed)
}

// releaseAll releases the bed that a benchmark had when it ended, and every other one that the
// cache knows; normally there are no others.
func (r *benchmarkReconciler) releaseAll(ctx context.Context, s *scope) error {
	held, err := r.heldBeds(ctx, s.run.UID)
	if err != nil {
		return err
	}
	runs := map[string]lab.Run{}
	for i := range held {
		runs[held[i].Name] = runOf(held[i].Status.Lease)
	}
	if s.Status.TestBedName != "" {
		runs[s.Status.TestBedName] = s.run
	}
	for bed, run := range runs {
		if err := r.releaseBed(ctx, bed, run); err != nil {
			return err
		}
	}
	return nil
}

// releaseBed removes the lease of a bed if it is that of the run. The patch tests that, so that
// it needs no earlier read, and no lock that others could break.
func (b *base) releaseBed(ctx context.Context, name string, run lab.Run) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/status/lease/uid", "value": run.UID},
		{"op": "test", "path": "/status/lease/attempt", "value": numberOrAbsent(run.Attempt)},
		{"op": "remove", "path": "/status/lease"},
	})
	if err != nil {
		return fmt.Errorf("releasing test bed %s: %w", name, err)
	}
	bed := &v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err = b.Client.Status().Patch(ctx, bed, client.RawPatch(types.JSONPatchType, patch))
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsInvalid(err) {
		// Most likely the test failed: another operator released it.
		if reading := b.live.Get(ctx, client.ObjectKey{Name: name}, bed); reading == nil && !hasLease(bed, run) {
			return nil
		}
	}
	return fmt.Errorf("releasing test bed %s: %w", name, err)
}

// numberOrAbsent returns the value that a JSON patch finds in a field that is omitted if it is
// 0.
func numberOrAbsent(n int32) any {
	if n == 0 {
		return nil
	}
	return n
}
