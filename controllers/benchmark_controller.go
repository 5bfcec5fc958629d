package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// benchmarkReconciler takes one benchmark from its lease to its last phase; before that
// the allocator handles it.
type benchmarkReconciler struct {
	base
	// poller polls runners, and memory caches what was read and written of results.
	poller *poller
	memory *memory
}

// phase is one step of a benchmark. It changes the scope's status, and reports whether the
// next phase can begin.
type phase func(ctx context.Context, s *scope) (step, error)

// Reconcile does what can be done now for a benchmark.
func (r *benchmarkReconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil || isOver(b) {
		r.timers.forget(req.NamespacedName)
		r.poller.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if waits(b) {
		held, err := r.heldBeds(ctx, string(b.UID))
		if err != nil || len(held) == 0 {
			return ctrl.Result{}, err
		}
	}
	if err := r.live.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if b.Status.Phase.Finished() {
		return settle(ctrl.Result{}, r.leave(ctx, b))
	}
	for range maxSteps {
		s := newScope(b, r.Now(), r.timers)
		next, err := r.advance(ctx, s)
		if failure := r.patch(ctx, s, err); err != nil || failure != nil {
			return settle(ctrl.Result{}, err, failure)
		}
		if b.Status.Phase.Finished() {
			return settle(ctrl.Result{}, r.leave(ctx, b))
		}
		if next.after != soon {
			return r.urgent(b, next.result()), nil
		}
	}
	return ctrl.Result{RequeueAfter: soon}, nil
}

// maxSteps is the maximum number of phases that one reconcile runs, with one read and the
// answers to its own writes.
const maxSteps = 8

// Priorities of the work queue; what was put there without one has 0.
const priorityClean = 50

// urgent puts clean-ups before all else: others wait for the bed.
func (r *benchmarkReconciler) urgent(b *v1alpha1.Benchmark, result ctrl.Result) ctrl.Result {
	if b.Status.Outcome != "" || b.Status.Preemption != nil {
		result.Priority = ptr(priorityClean)
	}
	return result
}

func ptr[T any](v T) *T { return &v }

// isOver reports whether nothing is left to do for good. The cache is enough to know this, so
// that thousands of old benchmarks cost a starting operator nothing.
func isOver(b *v1alpha1.Benchmark) bool {
	return b.Status.Phase.Finished() && !controllerutil.ContainsFinalizer(b, v1alpha1.FinalizerCleanUp) &&
		b.Status.ObservedGeneration == b.Generation
}

// observe records that an edit of a finished benchmark was seen; it has no other effect.
func (r *benchmarkReconciler) observe(ctx context.Context, b *v1alpha1.Benchmark) error {
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

// advance runs the phases in their order until one of them has to wait. Once the
// outcome is decided only the clean-up is left.
func (r *benchmarkReconciler) advance(ctx context.Context, s *scope) (step, error) {
	for _, p := range r.phases() {
		next, err := p(ctx, s)
		if err != nil || next.stop {
			return next, err
		}
	}
	return rest(), nil
}

// patch stores the status, once, under an optimistic lock: what was decided on an
// outdated benchmark is decided again.
func (r *base) patch(ctx context.Context, s *scope, failure error) error {
	if failure == nil {
		s.Status.ObservedGeneration = s.Generation
		if !s.waiting {
			s.timers.over(s.Benchmark, &s.Status.Wait)
		}
	}
	s.Status.Message = bounded(s.Status.Message)
	summarize(s.Benchmark, s.now)
	s.Status.Message = bounded(s.Status.Message)
	if equality.Semantic.DeepEqual(s.before.Status, s.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, s.Benchmark, patch); err != nil {
		// A benchmark without a finalizer may be gone by now.
		return client.IgnoreNotFound(fmt.Errorf("storing the status of the benchmark: %w", err))
	}
	r.announce(ctx, s)
	return nil
}

// announce logs a new phase, and makes an event only of an end that needs attention: an
// event costs the API server as much as a status, which says the same.
func (r *base) announce(ctx context.Context, s *scope) {
	if s.Status.Phase == s.before.Status.Phase {
		return
	}
	r.count(s)
	log.FromContext(ctx).Info("The benchmark moved on",
		"phase", s.Status.Phase, "outcome", s.Status.Outcome, "bed", s.Status.TestBedName, "message", s.Status.Message)
	if s.Status.Preemption != nil && s.before.Status.Preemption == nil {
		r.recorder.Eventf(s.Benchmark, nil, corev1.EventTypeNormal, v1alpha1.ReasonPreempted, "ReturnBed", "%s", truncated(s.preemptedBy()))
	}
	if !s.Status.Phase.Finished() || s.Status.Phase == v1alpha1.PhasePassed {
		return
	}
	kind := corev1.EventTypeNormal
	switch s.Status.Phase {
	case v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid, v1alpha1.PhaseError:
		kind = corev1.EventTypeWarning
	}
	r.recorder.Eventf(s.Benchmark, nil, kind, string(s.Status.Phase), "Advance", "%s", truncated(s.Status.Message))
}

// maxNote is the maximum length of the note of an event that the API server accepts.
const maxNote = 1024

func truncated(note string) string {
	if note == "" {
		return "see the conditions of the benchmark"
	}
	return note[:min(len(note), maxNote)]
}

// leave releases a finished benchmark.
func (r *benchmarkReconciler) leave(ctx context.Context, b *v1alpha1.Benchmark) error {
	r.memory.forget(b.UID)
	r.poller.forget(client.ObjectKeyFromObject(b))
	r.timers.forget(client.ObjectKeyFromObject(b))
	return errors.Join(r.removeFinalizer(ctx, b), r.observe(ctx, b))
}

// removeFinalizer lets a finished benchmark be deleted without the operator.
func (r *benchmarkReconciler) removeFinalizer(ctx context.Context, b *v1alpha1.Benchmark) error {
	before := b.DeepCopy()
	if !controllerutil.RemoveFinalizer(b, v1alpha1.FinalizerCleanUp) {
		return nil
	}
	err := r.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}
