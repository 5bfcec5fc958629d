package storing

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/notify"
)

// notificationRecheck is the interval at which retention checks whether all events were sent.
const notificationRecheck = 5 * time.Second

// RetentionReconciler deletes benchmarks some time after their end; in a lab with
// an archive or a recorder not before their result is there.
type RetentionReconciler struct{ kit.Base }

// Setup adds the controller of retention to a manager.
func (r *RetentionReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("retention").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(retentionMoved())).
		Complete(r)
}

// retentionMoved passes events of the end, of what is waited for, and another time to live.
func retentionMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
			after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
			return ok1 && ok2 && after.Status.Phase.Finished() &&
				(!before.Status.Phase.Finished() || kit.IsArchived(before) != kit.IsArchived(after) || kit.AwaitsRecorder(before) != kit.AwaitsRecorder(after) || before.Generation != after.Generation)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile deletes the benchmark once its time to live is over, or is called again then.
func (r *RetentionReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ttl, limited := r.timeToLive(b)
	if !b.Status.Phase.Finished() || !b.DeletionTimestamp.IsZero() || !limited {
		return ctrl.Result{}, nil
	}
	if wait := kit.EndedAt(b).Add(ttl).Sub(r.Now()); wait > 0 {
		// The clock may be changed meanwhile.
		return ctrl.Result{RequeueAfter: min(wait, r.Sweep)}, nil
	}
	if r.Awaited(b) {
		return ctrl.Result{}, nil
	}
	sinks, err := kit.SinksOf(ctx, r.Client, b.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	if kit.NotificationsPending(b) || len(notify.Due(b, kit.EndedAt(b), sinks, r.Now())) > 0 {
		return ctrl.Result{RequeueAfter: notificationRecheck}, nil // Both end with the time of the sinks.
	}
	// A change of the time to live that was just made takes precedence.
	err = r.Delete(ctx, b, client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		return kit.Settle(ctrl.Result{}, fmt.Errorf("deleting a benchmark that has ended long ago: %w", err))
	}
	log.FromContext(ctx).Info("The benchmark was deleted since it has ended long ago", "ttl", ttl.String(), "archived", kit.IsArchived(b))
	return ctrl.Result{}, nil
}

// timeToLive returns the time for which a finished benchmark is kept; limited is false if it
// is kept forever.
func (r *RetentionReconciler) timeToLive(b *v1alpha1.Benchmark) (ttl time.Duration, limited bool) {
	if seconds := b.Spec.TTLSecondsAfterFinished; seconds != nil {
		return time.Duration(*seconds) * time.Second, true
	}
	if r.TimeToLive != nil {
		return *r.TimeToLive, true
	}
	return 0, false
}
