package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/queue"
)

// lookAgain bounds how long a waiting benchmark relies on events alone.
const lookAgain = 30 * time.Second

// lease gets the benchmark its bed, or tells at which place it waits.
func (r *benchmarkReconciler) lease(ctx context.Context, s *scope) (step, error) {
	if s.Status.TestBedName != "" {
		return r.keepLease(ctx, s)
	}
	bed := heldBy(s.beds, s.run.UID)
	if bed == nil {
		place, err := r.place(ctx, s)
		if err != nil {
			return step{}, err
		}
		if place.Bed == "" {
			wait(s, place)
			return again(lookAgain), nil
		}
		bed = bedNamed(s.beds, place.Bed)
		if taken, err := r.take(ctx, s, bed); err != nil || !taken {
			return again(soon), err
		}
	}
	s.bed = bed
	s.Status.TestBedName = bed.Name
	s.Status.StartTime = bed.Status.Lease.AcquireTime.DeepCopy()
	s.Status.Phase = v1alpha1.PhasePreparing
	s.set(v1alpha1.ConditionBedLeased, metav1.ConditionTrue, v1alpha1.ReasonBedLeased, "has bed "+bed.Name)
	s.Status.Message = "has bed " + bed.Name
	return proceed(), nil
}

// keepLease makes sure that the bed is still the benchmark's.
func (r *benchmarkReconciler) keepLease(ctx context.Context, s *scope) (step, error) {
	s.bed = &v1alpha1.TestBed{}
	err := r.live.Get(ctx, client.ObjectKey{Name: s.Status.TestBedName}, s.bed)
	if client.IgnoreNotFound(err) != nil {
		return step{}, fmt.Errorf("reading test bed %s: %w", s.Status.TestBedName, err)
	}
	if err != nil || s.bed.Status.Lease == nil || s.bed.Status.Lease.UID != s.run.UID {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionBedLeased, v1alpha1.ReasonLeaseLost, fmt.Sprintf(
			"bed %s was taken away while the benchmark had it: somebody removed the bed or its lease by force", s.Status.TestBedName)), nil
	}
	return proceed(), nil
}

// take writes the lease. The API server refuses it when anybody wrote to the bed
// since it was read, so that of two takers one gets a conflict. When somebody has
// just taken another bed with an interface of this one, nothing is taken.
func (r *benchmarkReconciler) take(ctx context.Context, s *scope, bed *v1alpha1.TestBed) (taken bool, _ error) {
	r.leasing.Lock()
	defer r.leasing.Unlock()
	if alone, err := r.alone(ctx, bed); err != nil || !alone {
		return false, err
	}
	if controllerutil.AddFinalizer(bed, v1alpha1.FinalizerLeased) {
		if err := r.Update(ctx, bed); err != nil {
			return false, fmt.Errorf("keeping test bed %s from being deleted: %w", bed.Name, err)
		}
	}
	bed.Status.Lease = &v1alpha1.BedLease{
		Holder: s.Namespace + "/" + s.Name, UID: s.run.UID, AcquireTime: metav1.NewTime(s.now),
	}
	if err := r.Client.Status().Update(ctx, bed); err != nil {
		return false, fmt.Errorf("leasing test bed %s: %w", bed.Name, err)
	}
	return true, nil
}

// release gives back every bed that the run holds; normally one or none.
func (b *base) release(ctx context.Context, uid string) error {
	var beds v1alpha1.TestBedList
	if err := b.live.List(ctx, &beds); err != nil {
		return fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		bed := &beds.Items[i]
		if bed.Status.Lease == nil || bed.Status.Lease.UID != uid {
			continue
		}
		bed.Status.Lease = nil
		if err := b.Client.Status().Update(ctx, bed); err != nil {
			return fmt.Errorf("giving back test bed %s: %w", bed.Name, err)
		}
	}
	return nil
}

// place allocates all beds to all that wait and returns this benchmark's share.
func (r *benchmarkReconciler) place(ctx context.Context, s *scope) (queue.Place, error) {
	entries, err := r.waiting(ctx, s.beds)
	if err != nil {
		return queue.Place{}, err
	}
	self := entryOf(s.Benchmark, s.usable)
	entries = slices.DeleteFunc(entries, func(e queue.Entry) bool { return queue.KeyOf(e) == queue.KeyOf(self) })
	var beds []queue.Bed
	for _, b := range s.beds {
		other, _ := inTheWay(&b, s.beds)
		beds = append(beds, queue.Bed{Name: b.Name, Free: isFree(&b) && other == nil})
	}
	return queue.Allocate(append(entries, self), beds)[queue.KeyOf(self)], nil
}

// waiting returns all benchmarks that wait for a bed, as the cache knows them. It
// may be a little behind: that moves places in the queue, but no lease.
func (b *base) waiting(ctx context.Context, beds []v1alpha1.TestBed) ([]queue.Entry, error) {
	var all v1alpha1.BenchmarkList
	if err := b.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing benchmarks: %w", err)
	}
	var entries []queue.Entry
	for i := range all.Items {
		other := &all.Items[i]
		if !waits(other) || heldBy(beds, string(other.UID)) != nil {
			continue
		}
		answer, err := judge(ctx, b.Client, other, beds)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entryOf(other, bedNames(answer.Beds)))
	}
	return entries, nil
}

// waits says whether a benchmark stands in the queue.
func waits(b *v1alpha1.Benchmark) bool {
	return b.DeletionTimestamp.IsZero() && !b.Spec.Abort && b.Status.Outcome == "" && b.Status.TestBedName == "" &&
		isTrue(b.Status.Conditions, v1alpha1.ConditionAccepted)
}

func entryOf(b *v1alpha1.Benchmark, beds []string) queue.Entry {
	return queue.Entry{
		Namespace: b.Namespace, Name: b.Name, Priority: b.Spec.Priority,
		Created: b.CreationTimestamp.Time, Beds: beds,
	}
}

// isFree says whether a bed can be leased now.
func isFree(bed *v1alpha1.TestBed) bool {
	ready := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	return bed.Status.Lease == nil && bed.DeletionTimestamp.IsZero() &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == bed.Generation
}

func heldBy(beds []v1alpha1.TestBed, uid string) *v1alpha1.TestBed {
	for i := range beds {
		if l := beds[i].Status.Lease; l != nil && l.UID == uid {
			return &beds[i]
		}
	}
	return nil
}

func bedNamed(beds []v1alpha1.TestBed, name string) *v1alpha1.TestBed {
	for i := range beds {
		if beds[i].Name == name {
			return &beds[i]
		}
	}
	return nil
}

// wait says for what the benchmark waits.
func wait(s *scope, place queue.Place) {
	s.Status.Phase = v1alpha1.PhaseQueued
	reason, what := v1alpha1.ReasonQueued, "waits for bed "+place.WaitsFor
	switch bed := bedNamed(s.beds, place.WaitsFor); {
	case bed == nil:
		what = "waits for a bed"
	case isFree(bed):
		if other, shared := inTheWay(bed, s.beds); other != nil {
			what = fmt.Sprintf("waits for bed %s, whose interface %s bed %s has too, which %s has", bed.Name, shared, other.Name, other.Status.Lease.Holder)
		}
	case !isTrue(bed.Status.Conditions, v1alpha1.ConditionReady):
		reason = v1alpha1.ReasonBedNotReady
		what = fmt.Sprintf("waits for bed %s, which is not ready: %s", bed.Name, notReady(bed))
	case bed.Status.Lease != nil:
		what = fmt.Sprintf("waits for bed %s, which %s has", bed.Name, bed.Status.Lease.Holder)
	}
	switch place.Ahead {
	case 0:
		what += "; comes next"
	case 1:
		what += "; 1 benchmark comes first"
	default:
		what += fmt.Sprintf("; %d benchmarks come first", place.Ahead)
	}
	s.set(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, reason, what)
}

func notReady(bed *v1alpha1.TestBed) string {
	if c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return "the operator has not looked at it yet"
}
