package benchmarks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// Reconcile does what can be done now for a benchmark.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	defer r.InProgress.Enter(req.NamespacedName)()
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil || isOver(b) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if kit.Waits(b) {
		held, err := kit.HeldBeds(ctx, r.Client, string(b.UID))
		if err != nil || len(held) == 0 {
			return ctrl.Result{}, err
		}
	}
	if err := r.Live.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if b.Status.Phase.Finished() {
		return kit.Settle(ctrl.Result{}, r.leave(ctx, b))
	}
	for range maxSteps {
		s := kit.NewScope(b, r.Now(), r.Timers)
		next, err := r.advance(ctx, s)
		if failure := r.StatusWriter().Store(ctx, s, err); err != nil || failure != nil {
			return kit.Settle(ctrl.Result{}, err, failure)
		}
		if b.Status.Phase.Finished() {
			return kit.Settle(ctrl.Result{}, r.leave(ctx, b))
		}
		if next.After != kit.Soon {
			return urgent(b, next.Result()), nil
		}
	}
	return ctrl.Result{RequeueAfter: kit.Soon}, nil
}

// maxSteps is the maximum number of phases that one reconcile runs, with one read and the
// answers to its own writes.
const maxSteps = 8

// Priorities of the work queue; what was put there without one has 0.
const priorityClean = 50

// urgent puts clean-ups before all else: others wait for the bed.
func urgent(b *v1alpha1.Benchmark, result ctrl.Result) ctrl.Result {
	if b.Status.Outcome != "" || b.Status.Preemption != nil {
		result.Priority = new(priorityClean)
	}
	return result
}

// isOver reports whether nothing is left to do for good. The cache is enough to know this, so
// that thousands of old benchmarks cost a starting operator nothing.
func isOver(b *v1alpha1.Benchmark) bool {
	return b.Status.Phase.Finished() && b.Status.ObservedGeneration == b.Generation
}

// observe records that an edit of a finished benchmark was seen; it has no other effect.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.Benchmark) error {
	if b.Status.ObservedGeneration == b.Generation {
		return nil
	}
	before := b.DeepCopy()
	b.Status.ObservedGeneration = b.Generation
	if err := r.Client.Status().Patch(ctx, b, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing the observed generation: %w", err)
	}
	return nil
}

// leave lets go of a finished benchmark.
func (r *Reconciler) leave(ctx context.Context, b *v1alpha1.Benchmark) error {
	r.forget(keyOf(b))
	return r.observe(ctx, b)
}

// forget drops what is remembered of a benchmark that is finished or gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.ledgers.forget(key)
	r.snapshots.forget(key)
	r.poller.forget(key)
	r.traffic.expiry.forget(key)
	r.Timers.Forget(key)
}
