package schedules

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
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// Reconciler makes the benchmarks of schedules, and deletes old ones.
type Reconciler struct {
	kit.Base
	pace pace
}

// Setup adds the controller of schedules to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("schedule").
		For(&v1alpha1.BenchmarkSchedule{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Benchmark{}, handler.EnqueueRequestsFromMapFunc(scheduleOf), builder.WithPredicates(scheduledMoved())).
		WithOptions(controller.Options{RateLimiter: kit.Patiently()}).
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
		return ok1 && ok2 && (before.Status.Phase.Finished() != after.Status.Phase.Finished() || kit.IsArchived(before) != kit.IsArchived(after) ||
			kit.AwaitsRecorder(before) != kit.AwaitsRecorder(after) || before.Labels[v1alpha1.LabelSchedule] != after.Labels[v1alpha1.LabelSchedule])
	}}
}

// Timetable is one schedule in one reconcile.
type Timetable struct {
	*v1alpha1.BenchmarkSchedule
	Before *v1alpha1.BenchmarkSchedule
	timing *schedule.Timing
	Now    time.Time
	Made   []*v1alpha1.Benchmark
	// Active are the made benchmarks that are not finished.
	Active []*v1alpha1.Benchmark
	// news are the events that are sent once the status is stored.
	news []news
	// wait is the time until the schedule is checked again; 0 means when something changes.
	wait time.Duration
}

// news is an event of a schedule.
type news struct{ kind, reason, action, note string }

func (t *Timetable) event(kind, reason, action, format string, args ...any) {
	t.news = append(t.news, news{kind, reason, action, fmt.Sprintf(format, args...)})
}

// wakeAt looks at the schedule again at a time, if not before.
func (t *Timetable) wakeAt(at time.Time) {
	// A timer may end a moment early, by another clock.
	if wait := max(at.Sub(t.Now), 0) + kit.Soon; t.wait == 0 || wait < t.wait {
		t.wait = wait
	}
}

// Reconcile fires what is due, and reports the results of earlier firings. It reads the cache:
// every decision is stored under the lock of the schedule, before anything follows from it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.BenchmarkSchedule{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || !s.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	t := &Timetable{BenchmarkSchedule: s, Before: s.DeepCopy(), Now: r.Now()}
	if err := r.benchmarksOf(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	t.Record()
	if t.due() {
		// The decision to fire is stored before anything is made.
		if err := r.store(ctx, t); err != nil {
			return end(err)
		}
		if err := r.fire(ctx, t); err != nil {
			return kit.Settle(ctrl.Result{}, err)
		}
	}
	if err := r.store(ctx, t); err != nil {
		return end(err)
	}
	if t.wait > 0 {
		t.wait = min(t.wait, r.Sweep) // The clock may be changed meanwhile.
	}
	return kit.Settle(ctrl.Result{RequeueAfter: t.wait}, r.trim(ctx, t))
}

// end ends a reconcile whose status was not stored. A schedule that was deleted meanwhile needs nothing more.
func end(err error) (ctrl.Result, error) {
	return kit.Settle(ctrl.Result{}, client.IgnoreNotFound(err))
}

// benchmarksOf finds what was made, by its label: also what was made before the schedule was
// deleted and created again.
func (r *Reconciler) benchmarksOf(ctx context.Context, t *Timetable) error {
	var all v1alpha1.BenchmarkList
	err := r.List(ctx, &all, client.InNamespace(t.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: t.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the benchmarks of the schedule: %w", err)
	}
	for i := range all.Items {
		b := &all.Items[i]
		t.Made = append(t.Made, b)
		if !b.Status.Phase.Finished() {
			t.Active = append(t.Active, b)
		}
	}
	return nil
}

// store writes the status, if it changes, and sends the events that belong to it.
func (r *Reconciler) store(ctx context.Context, t *Timetable) error {
	t.Status.ObservedGeneration = t.Generation
	if !equality.Semantic.DeepEqual(t.Before.Status, t.Status) {
		patch := client.MergeFromWithOptions(t.Before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, t.BenchmarkSchedule, patch); err != nil {
			return fmt.Errorf("storing the status of the schedule: %w", err)
		}
		t.Before = t.DeepCopy()
	}
	for _, n := range t.news {
		r.Recorder.Eventf(t.BenchmarkSchedule, nil, n.kind, n.reason, n.action, "%s", kit.Truncated(n.note))
	}
	t.news = nil
	return nil
}

// Ready sets the condition Ready, and Stalled as its opposite, for tools that watch any kind
// of object.
func (t *Timetable) Ready(status metav1.ConditionStatus, reason, message string) {
	all := &t.Status.Conditions
	kit.SetCondition(all, t.Now, t.Generation, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message})
	if status == metav1.ConditionTrue {
		meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
		return
	}
	kit.SetCondition(all, t.Now, t.Generation, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message})
}
