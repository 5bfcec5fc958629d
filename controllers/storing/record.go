package storing

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

const (
	// recordTimeout bounds one attempt to hand the rows of a result over.
	recordTimeout = time.Minute
	// recorderPatience is the time for which a benchmark that is being deleted waits for the
	// recorder, in a lab with an archive.
	recorderPatience = 10 * time.Minute
	// recorderChecks is the number of checks in that time.
	recorderChecks = 20
)

// RecordReconciler hands the rows of every finished benchmark to the recorder, in a lab with
// an archive once they are there. A runner hands its rows over when it has made them; those
// that it could not, since one of both was away, come this way, and the others are the same
// points again. One at a time: no run waits for it.
type RecordReconciler struct {
	kit.Base
	outage outage
}

// NewRecordReconciler returns the controller that hands rows to the recorder.
func NewRecordReconciler(b kit.Base) *RecordReconciler {
	return &RecordReconciler{Base: b, outage: outage{what: "the recorder", longest: b.ArchiveRetry}}
}

// Setup adds the controller that hands rows to the recorder to a manager.
func (r *RecordReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("record").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.wants))).
		WithOptions(atArchivePace(r.Base, 1)).
		Complete(r)
}

// wants reports whether the rows of a benchmark are to be handed over.
func (r *RecordReconciler) wants(object client.Object) bool {
	b, is := object.(*v1alpha1.Benchmark)
	return is && kit.HasRows(b) && (r.Archive == nil || kit.IsArchived(b)) && !kit.IsTrue(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded)
}

// Reconcile hands the rows over and writes the condition.
func (r *RecordReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.wants(b) {
		return ctrl.Result{}, nil
	}
	if wait := r.outage.wait(r.Now()); wait > 0 {
		return kit.Settle(ctrl.Result{RequeueAfter: wait}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonRecorderUnavailable, r.outage.message()))
	}
	lines, err := r.lines(ctx, b)
	var broken *kit.BrokenError
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // The operator stops.
	case errors.As(err, &broken):
		return kit.Settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonPointsRefused, err.Error()))
	case err != nil:
		return kit.Settle(ctrl.Result{}, err, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonResultUnreadable, err.Error()))
	}
	err = hand(ctx, r.Base, lines)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil
	case recorder.IsRefused(err):
		return kit.Settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonPointsRefused, err.Error()))
	case err != nil:
		wait := r.outage.failed(r.Now(), err)
		log.FromContext(ctx).Info("The recorder is not available", "reason", err.Error(), "again", wait.String())
		return kit.Settle(ctrl.Result{RequeueAfter: wait}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonRecorderUnavailable, r.outage.message()))
	}
	r.outage.over()
	return kit.Settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionTrue, v1alpha1.ReasonRecorded, fmt.Sprintf("the recorder has %d rows", b.Status.Results.Rows)))
}

// lines are the points of the run, of its rows and of the verdicts of its gates. The first two equal the
// points of the runner, which has planned the same and begun at the same time. A BrokenError means that there are none.
func (r *RecordReconciler) lines(ctx context.Context, b *v1alpha1.Benchmark) ([][]byte, error) {
	content, err := stored.Content(ctx, r.Live, b)
	switch {
	case apierrors.IsNotFound(err):
		return nil, kit.Permanent(err)
	case err != nil:
		return nil, err
	case content.Profile == nil || content.Bed == nil:
		return nil, kit.Permanent(errors.New("the profile or the bed of the run was not stored"))
	}
	run, err := metrics.NewRun(b, content.Profile, content.Bed, b.Status.StartTime.Time)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	points, err := run.Rows(content.Rows)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	verdicts, err := run.Gates(report.Judge(content), content.Rows)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	points = append(points, verdicts...)
	if e := content.Environment; e != nil {
		points = append(points, run.Point(content.Bed.Spec.Engine.Kind, e.NoDropVersion))
	}
	lines, err := metrics.Lines(points)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	return lines, nil
}

// hand hands lines over to the recorder.
func hand(ctx context.Context, b kit.Base, lines [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return b.Metrics.Record(ctx, lines)
}

// say writes the condition when its reason changes, not at every attempt.
func (r *RecordReconciler) say(ctx context.Context, b *v1alpha1.Benchmark, status metav1.ConditionStatus, reason, message string) error {
	if kit.ReasonOf(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) == reason {
		return nil
	}
	before := b.DeepCopy()
	kit.SetCondition(&b.Status.Conditions, r.Now(), b.Generation, metav1.Condition{Type: v1alpha1.ConditionMetricsRecorded, Status: status, Reason: reason, Message: message})
	if err := kit.PatchStatus(ctx, r.Client, r.Live, before, b); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing what the recorder has: %w", err)
	}
	return nil
}
