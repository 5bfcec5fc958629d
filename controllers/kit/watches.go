package kit

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Patiently reconciles failing objects again after growing pauses.
func Patiently() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestPause)
}

// longestPause is the maximum time for which a failing object waits before it is reconciled
// again. A bed waits for as long when the API server comes back.
const longestPause = 15 * time.Second

// RequestFor requests a reconcile of a benchmark, given as namespace/name.
func RequestFor(key string) []reconcile.Request {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// LeaseMoved passes beds whose lease is new.
func LeaseMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.TestBed)
			after, ok2 := e.ObjectNew.(*v1alpha1.TestBed)
			return ok1 && ok2 && !equality.Semantic.DeepEqual(before.Status.Lease, after.Status.Lease)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return true },
	}
}

// BedMoved passes changes by users, and everything of a bed that is being deleted. It
// drops what the operator writes into the status of others.
func BedMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
			!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
			!after.GetDeletionTimestamp().IsZero()
	}}
}
