package controllers

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
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
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/internal/preflight"
)

// workers is how many benchmarks are looked at side by side. A look at a running
// one waits for its runner's answer.
const workers = 4

func (r *benchmarkReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("benchmark").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(benchmarkMoved())).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(r.queue), builder.WithPredicates(queueMoved())).
		Watches(&v1alpha1.TestBed{}, handler.EnqueueRequestsFromMapFunc(r.queue), builder.WithPredicates(bedMoved())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOfPod)).
		WatchesRawSource(source.TypedChannel(r.poller.wakes, &handler.TypedEnqueueRequestForObject[*v1alpha1.Benchmark]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func (r *testBedReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("testbed").
		For(&v1alpha1.TestBed{}, builder.WithPredicates(bedMoved())).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(r.bedsOf), builder.WithPredicates(queueMoved())).
		Complete(r)
}

// queue names all benchmarks that wait.
func (b *base) queue(ctx context.Context, _ client.Object) []reconcile.Request {
	var all v1alpha1.BenchmarkList
	if err := b.List(ctx, &all); err != nil {
		return nil // The cache was stopped; so is everything else.
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if waits(&all.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

// bedsOf names the beds that a benchmark has or wants.
func (b *base) bedsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	benchmark, ok := obj.(*v1alpha1.Benchmark)
	if !ok {
		return nil
	}
	var beds v1alpha1.TestBedList
	if err := b.List(ctx, &beds); err != nil {
		return nil // The cache was stopped; so is everything else.
	}
	var requests []reconcile.Request
	for i := range beds.Items {
		bed := &beds.Items[i]
		if bed.Name == benchmark.Status.TestBedName || preflight.Wants(benchmark, bed) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: bed.Name}})
		}
	}
	return requests
}

// ownerOfPod names the benchmark that a pod of the lab belongs to.
func ownerOfPod(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, found := strings.Cut(obj.GetAnnotations()[lab.AnnotationBenchmark], "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// benchmarkMoved leaves out updates that the operator itself makes every second.
func benchmarkMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// queueMoved lets through what moves places in the queue.
func queueMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
			after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
			return ok1 && ok2 && (waits(before) != waits(after) || before.Status.Phase != after.Status.Phase)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// bedMoved leaves out the count of those that wait.
func bedMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.TestBed)
		after, ok2 := e.ObjectNew.(*v1alpha1.TestBed)
		if !ok1 || !ok2 {
			return false
		}
		return before.Generation != after.Generation ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(before.Status.Lease, after.Status.Lease) ||
			readiness(before) != readiness(after)
	}}
}

func readiness(bed *v1alpha1.TestBed) string {
	c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Message
}
