package storing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// historyTimeout bounds one attempt to read the history of a benchmark.
const historyTimeout = 5 * time.Minute

// TrendReconciler examines the history of every benchmark whose result was archived, and
// reports in a condition whether the level of a figure became worse. It handles one benchmark
// at a time: nothing waits for it.
type TrendReconciler struct{ kit.Base }

// Setup adds the controller of trends to a manager.
func (r *TrendReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("trend").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(predicate.NewPredicateFuncs(wantsTrend))).
		WithOptions(atArchivePace(r.Base, 1)).
		Complete(r)
}

// wantsTrend reports whether a benchmark was measured and archived, and its history was not
// looked at yet.
func wantsTrend(object client.Object) bool {
	b, ok := object.(*v1alpha1.Benchmark)
	if !ok || !b.DeletionTimestamp.IsZero() || !kit.IsArchived(b) || !kit.WasMeasured(b) {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionRegression)
	return c == nil || c.Status == metav1.ConditionUnknown
}

// Reconcile writes the condition.
func (r *TrendReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !wantsTrend(b) {
		return ctrl.Result{}, nil
	}
	history, device, err := r.history(ctx, b)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // The operator stops.
	case err != nil:
		return kit.Settle(ctrl.Result{}, err, r.say(ctx, b, metav1.ConditionUnknown, v1alpha1.ReasonHistoryUnreadable, err.Error()))
	}
	status, reason, message := metav1.ConditionFalse, v1alpha1.ReasonNoRegression, history.Verdict()
	if history.Regressed() {
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonLevelWorse
	}
	if err := r.say(ctx, b, status, reason, message); err != nil {
		return kit.Settle(ctrl.Result{}, err)
	}
	if status == metav1.ConditionTrue {
		log.FromContext(ctx).Info("The history shows a regression", "message", message)
		r.Recorder.Eventf(b, nil, corev1.EventTypeWarning, v1alpha1.ConditionRegression, "CompareWithHistory", "%s", kit.Truncated(message))
		if err := r.record(ctx, metrics.Regressions(history.History, string(b.UID), device)); err != nil {
			log.FromContext(ctx).Error(err, "The regression is not written as a metric; the next run that shows it is")
		}
	}
	return ctrl.Result{}, nil
}

// history reads the figures of the newest results of benchmarks of this name, and the device that this one
// measured.
func (r *TrendReconciler) history(ctx context.Context, b *v1alpha1.Benchmark) (*report.History, v1alpha1.Device, error) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	var builder report.HistoryBuilder
	var device v1alpha1.Device
	add := func(d *report.Document) error {
		if d.Benchmark.UID == string(b.UID) && d.Bed != nil {
			device = d.Bed.Device
		}
		return builder.Add(d)
	}
	key, err := stored.HistoryOf(ctx, r.Live, b.Namespace, b.Spec.History(b.Name))
	if err != nil {
		return nil, device, err
	}
	unreadable, err := r.Archive.EachOf(ctx, key, trend.MaxValues, add)
	if err != nil {
		return nil, device, fmt.Errorf("reading the history: %w", err)
	}
	builder.Skip(unreadable...)
	h, err := builder.History()
	return h, device, err
}

// record hands points to the recorder of the lab, where there is one.
func (r *TrendReconciler) record(ctx context.Context, points []metrics.Point) error {
	if r.Metrics == nil || len(points) == 0 {
		return nil
	}
	lines, err := metrics.Lines(points)
	if err != nil {
		return err
	}
	return hand(ctx, r.Base, lines)
}

// say writes the condition, if it changes.
func (r *TrendReconciler) say(ctx context.Context, b *v1alpha1.Benchmark, status metav1.ConditionStatus, reason, message string) error {
	before := b.DeepCopy()
	if !meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRegression, Status: status, Reason: reason, Message: kit.Truncated(message),
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(r.Now()),
	}) {
		return nil
	}
	if err := kit.PatchStatus(ctx, r.Client, r.Live, before, b); err != nil {
		return fmt.Errorf("storing what the history shows: %w", err)
	}
	return nil
}
