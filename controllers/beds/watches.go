package beds

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

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

// doubtedFree passes beds that were returned, and are probed before their next lease.
func doubtedFree() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.TestBed)
			after, ok2 := e.ObjectNew.(*v1alpha1.TestBed)
			return ok1 && ok2 && !kit.AwaitsProbe(before) && kit.AwaitsProbe(after)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// bedsOf names the beds that a benchmark has, except for one that the allocator takes back.
func (b *Reconciler) bedsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	held, err := kit.HeldBeds(ctx, b.Client, string(obj.GetUID()))
	if err != nil {
		return nil // The cache was stopped; so is everything else.
	}
	var requests []reconcile.Request
	for i := range held {
		if of, ok := obj.(*v1alpha1.Benchmark); ok && kit.Returned(&held[i], of) {
			continue
		}
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: held[i].Name}})
	}
	return requests
}

// Setup adds the controller of test beds to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("testbed").
		For(&v1alpha1.TestBed{}, builder.WithPredicates(predicate.Or(kit.BedMoved(), doubtedFree()))).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(r.bedsOf), builder.WithPredicates(holderLeft())).
		WithOptions(controller.Options{RateLimiter: kit.Patiently()}).
		Complete(r)
}
