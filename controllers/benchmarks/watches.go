package benchmarks

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// workers is the number of benchmarks that are reconciled concurrently. Most of a reconcile is
// waiting for the API server.
const workers = 16

// Setup adds the controller of benchmarks to a manager. It is woken by events of benchmarks that have a bed, or that
// end. The allocator handles those that wait; they cost this controller nothing.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("benchmark").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(benchmarkMoved())).
		Watches(&v1alpha1.TestBed{}, handler.EnqueueRequestsFromMapFunc(r.holderOf), builder.WithPredicates(kit.LeaseMoved())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOfPod), builder.WithPredicates(kit.PodMoved())).
		WatchesRawSource(source.TypedChannel(r.poller.wakes, &handler.TypedEnqueueRequestForObject[*v1alpha1.Benchmark]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: kit.Patiently()}).
		Complete(r)
}

// holderOf names the benchmark that has a bed, or had it before a change. One whose
// outcome is decided continues by itself: it has just released the bed.
func (b *Reconciler) holderOf(ctx context.Context, obj client.Object) []reconcile.Request {
	bed, ok := obj.(*v1alpha1.TestBed)
	if !ok || bed.Status.Lease == nil {
		return nil
	}
	requests := kit.RequestFor(bed.Status.Lease.Holder)
	for _, r := range requests {
		holder := &v1alpha1.Benchmark{}
		if err := b.Get(ctx, r.NamespacedName, holder); err != nil || holder.Status.Outcome != "" {
			return nil
		}
	}
	return requests
}

// ownerOfPod names the benchmark that a pod of the lab belongs to.
func ownerOfPod(_ context.Context, obj client.Object) []reconcile.Request {
	return kit.RequestFor(obj.GetAnnotations()[labobjects.AnnotationBenchmark])
}

// benchmarkMoved passes changes by users, and at the start of an operator the benchmarks
// in progress. It drops updates that the operator itself makes, and those that
// only wait.
func benchmarkMoved() predicate.Predicate {
	concerns := func(o client.Object) bool {
		b, ok := o.(*v1alpha1.Benchmark)
		return ok && !kit.Waits(b)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerns(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return concerns(e.ObjectNew) && (e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero())
		},
	}
}
