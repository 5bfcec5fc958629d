package controllers

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
)

// workers is the number of benchmarks that are reconciled concurrently. Most of a reconcile is
// waiting for the API server.
const workers = 16

// The controller of benchmarks is woken by events of benchmarks that have a bed, or that
// end. The allocator handles those that wait; they cost this controller nothing.
func (r *benchmarkReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("benchmark").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(benchmarkMoved())).
		Watches(&v1alpha1.TestBed{}, handler.EnqueueRequestsFromMapFunc(r.holderOf), builder.WithPredicates(leaseMoved())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOfPod)).
		WatchesRawSource(source.TypedChannel(r.poller.wakes, &handler.TypedEnqueueRequestForObject[*v1alpha1.Benchmark]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: patiently()}).
		Complete(r)
}

// longestPause is the maximum time for which a failing object waits before it is reconciled
// again. A bed waits for as long when the API server comes back.
const longestPause = 15 * time.Second

// patiently reconciles failing objects again after growing pauses.
func patiently() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestPause)
}

func (r *testBedReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("testbed").
		For(&v1alpha1.TestBed{}, builder.WithPredicates(bedMoved())).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(r.bedsOf), builder.WithPredicates(holderLeft())).
		WithOptions(controller.Options{RateLimiter: patiently()}).
		Complete(r)
}

// holderOf names the benchmark that has a bed, or had it before a change. One whose
// outcome is decided continues by itself: it has just released the bed.
func (b *base) holderOf(ctx context.Context, obj client.Object) []reconcile.Request {
	bed, ok := obj.(*v1alpha1.TestBed)
	if !ok || bed.Status.Lease == nil {
		return nil
	}
	requests := requestFor(bed.Status.Lease.Holder)
	for _, r := range requests {
		holder := &v1alpha1.Benchmark{}
		if err := b.Get(ctx, r.NamespacedName, holder); err != nil || holder.Status.Outcome != "" {
			return nil
		}
	}
	return requests
}

// bedsOf names the beds that a benchmark has.
func (b *base) bedsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	held, err := b.heldBeds(ctx, string(obj.GetUID()))
	if err != nil {
		return nil // The cache was stopped; so is everything else.
	}
	var requests []reconcile.Request
	for i := range held {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: held[i].Name}})
	}
	return requests
}

// ownerOfPod names the benchmark that a pod of the lab belongs to.
func ownerOfPod(_ context.Context, obj client.Object) []reconcile.Request {
	return requestFor(obj.GetAnnotations()[lab.AnnotationBenchmark])
}

// requestFor requests a reconcile of a benchmark, given as namespace/name.
func requestFor(key string) []reconcile.Request {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// benchmarkMoved passes changes by users, and at the start of an operator the benchmarks
// in progress. It drops updates that the operator itself makes, and those that
// only wait.
func benchmarkMoved() predicate.Predicate {
	concerns := func(o client.Object) bool {
		b, ok := o.(*v1alpha1.Benchmark)
		return ok && (!waits(b) || controllerutil.ContainsFinalizer(b, v1alpha1.FinalizerCleanUp))
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerns(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return concerns(e.ObjectNew) && (e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero())
		},
	}
}

// leaseMoved passes beds whose lease is new.
func leaseMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.TestBed)
			after, ok2 := e.ObjectNew.(*v1alpha1.TestBed)
			return ok1 && ok2 && !equality.Semantic.DeepEqual(before.Status.Lease, after.Status.Lease)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return true },
	}
}

// holderLeft passes benchmarks that are gone or finished: a bed that they still
// have is an orphan.
func holderLeft() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
			after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
			return ok1 && ok2 && !before.Status.Phase.Finished() && after.Status.Phase.Finished()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// bedMoved passes changes by users, and everything of a bed that is being deleted. It
// drops what the operator writes into the status of others.
func bedMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
			!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
			!after.GetDeletionTimestamp().IsZero()
	}}
}
