package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"nodrop.dev/nodrop/internal/schedule"
)

// scheduleReconciler makes the benchmarks of schedules, and deletes old ones.
type scheduleReconciler struct{ base }

func (r *scheduleReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("schedule").
		For(&v1alpha1.BenchmarkSchedule{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(scheduleOf), builder.WithPredicates(scheduledMoved())).
		WithOptions(controller.Options{RateLimiter: patiently()}).
		Complete(r)
}

// scheduleOf names the schedule that a benchmark is of.
func scheduleOf(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[v1alpha1.LabelSchedule]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}

// scheduledMoved passes benchmarks that come, go, end, or can be deleted from now on.
func scheduledMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
		after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
		return ok1 && ok2 && (before.Status.Phase.Finished() != after.Status.Phase.Finished() || isArchived(before) != isArchived(after) ||
			awaitsRecorder(before) != awaitsRecorder(after) || before.Labels[v1alpha1.LabelSchedule] != after.Labels[v1alpha1.LabelSchedule])
	}}
}

// timetable is one schedule in one reconcile.
type timetable struct {
	*v1alpha1.BenchmarkSchedule
	before *v1alpha1.BenchmarkSchedule
	timing *schedule.Timing
	now    time.Time
	made   []*v1alpha1.Benchmark
	// active are the made benchmarks that are not finished.
	active []*v1alpha1.Benchmark
	// news are the events that are sent once the status is stored.
	news []news
	// wait is the time until the schedule is checked again; 0 means when something changes.
	wait time.Duration
}

// news is an event of a schedule.
type news struct{ kind, reason, action, note string }

func (t *timetable) event(kind, reason, action, format string, args ...any) {
	t.news = append(t.news, news{kind, reason, action, fmt.Sprintf(format, args...)})
}

// wakeAt looks at the schedule again at a time, if not before.
func (t *timetable) wakeAt(at time.Time) {
	// A timer may end a moment early, by another clock.
	if wait := max(at.Sub(t.now), 0) + soon; t.wait == 0 || wait < t.wait {
		t.wait = wait
	}
}

// Reconcile fires what is due, and reports the results of earlier firings. It reads the cache:
// every decision is stored under the lock of the schedule, before anything follows from it.
func (r *scheduleReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.BenchmarkSchedule{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || !s.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	t := &timetable{BenchmarkSchedule: s, before: s.DeepCopy(), now: r.Now()}
	if err := r.benchmarksOf(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	t.record()
	if t.due() {
		// The decision to fire is stored before anything is made.
		if err := r.store(ctx, t); err != nil {
			return settle(ctrl.Result{}, err)
		}
		if err := r.fire(ctx, t); err != nil {
			return settle(ctrl.Result{}, err)
		}
	}
	if err := r.store(ctx, t); err != nil {
		return settle(ctrl.Result{}, err)
	}
	if t.wait > 0 {
		t.wait = min(t.wait, r.Sweep) // The clock may be changed meanwhile.
	}
	return settle(ctrl.Result{RequeueAfter: t.wait}, r.trim(ctx, t))
}

// benchmarksOf finds what was made, by its label: also what was made before the schedule was
// deleted and created again.
func (r *scheduleReconciler) benchmarksOf(ctx context.Context, t *timetable) error {
	var all v1alpha1.BenchmarkList
	err := r.List(ctx, &all, client.InNamespace(t.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: t.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the benchmarks of the schedule: %w", err)
	}
	for i := range all.Items {
		b := &all.Items[i]
		t.made = append(t.made, b)
		if !b.Status.Phase.Finished() {
			t.active = append(t.active, b)
		}
	}
	return nil
}

// store writes the status, if it changes, and sends the events that belong to it.
func (r *scheduleReconciler) store(ctx context.Context, t *timetable) error {
	t.Status.ObservedGeneration = t.Generation
	if !equality.Semantic.DeepEqual(t.before.Status, t.Status) {
		patch := client.MergeFromWithOptions(t.before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, t.BenchmarkSchedule, patch); err != nil {
			return fmt.Errorf("storing the status of the schedule: %w", err)
		}
		t.before = t.DeepCopy()
	}
	for _, n := range t.news {
		r.recorder.Eventf(t.BenchmarkSchedule, nil, n.kind, n.reason, n.action, "%s", truncated(n.note))
	}
	t.news = nil
	return nil
}

// ready sets the condition Ready, and Stalled as its opposite, for tools that watch any kind
// of object.
func (t *timetable) ready(status metav1.ConditionStatus, reason, message string) {
	all := &t.Status.Conditions
	setCondition(all, t.now, t.Generation, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message})
	if status == metav1.ConditionTrue {
		meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
		return
	}
	setCondition(all, t.now, t.Generation, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message})
}
