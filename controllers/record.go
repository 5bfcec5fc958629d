package controllers

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
	"nodrop.dev/nodrop/internal/metrics"
	"nodrop.dev/nodrop/internal/metrics/recorder"
	"nodrop.dev/nodrop/internal/stored"
)

const (
	// recordTimeout bounds one attempt to hand the rows of a result over.
	recordTimeout = time.Minute
	// recorderPatience is the time for which a benchmark that is being deleted waits for the
	// recorder, in a lab with an archive.
	recorderPatience = 10 * time.Minute
)

// recordReconciler hands the rows of every finished benchmark to the recorder, in a lab with
// an archive once they are there. A runner hands its rows over when it has made them; those
// that it could not, since one of both was away, come this way, and the others are the same
// points again. One at a time: no run waits for it.
type recordReconciler struct {
	base
	outage outage
}

func newRecordReconciler(b base) *recordReconciler {
	return &recordReconciler{base: b, outage: outage{what: "the recorder", longest: b.ArchiveRetry}}
}

func (r *recordReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("record").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.wants))).
		WithOptions(r.atArchivePace(1)).
		Complete(r)
}

// wants reports whether the rows of a benchmark are to be handed over.
func (r *recordReconciler) wants(object client.Object) bool {
	b, is := object.(*v1alpha1.Benchmark)
	return is && hasRows(b) && (r.Archive == nil || isArchived(b)) && !isTrue(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded)
}

// hasRows reports whether a benchmark is finished, with rows.
func hasRows(b *v1alpha1.Benchmark) bool {
	return b.Status.Phase.Finished() && b.Status.Results != nil && b.Status.Results.Rows > 0 && b.Status.StartTime != nil
}

// awaitsRecorder reports whether the recorder of a lab that has one may still get rows of a
// benchmark.
func awaitsRecorder(b *v1alpha1.Benchmark) bool {
	return hasRows(b) && !isTrue(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) &&
		reasonOf(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) != v1alpha1.ReasonPointsRefused
}

// Reconcile hands the rows over and writes the condition.
func (r *recordReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.wants(b) {
		return ctrl.Result{}, nil
	}
	if wait := r.outage.wait(r.Now()); wait > 0 {
		return settle(ctrl.Result{RequeueAfter: wait}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonRecorderUnavailable, r.outage.message()))
	}
	lines, err := r.lines(ctx, b)
	var broken *brokenError
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // The operator stops.
	case errors.As(err, &broken):
		return settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonPointsRefused, err.Error()))
	case err != nil:
		return settle(ctrl.Result{}, err, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonResultUnreadable, err.Error()))
	}
	err = r.hand(ctx, lines)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil
	case recorder.IsRefused(err):
		return settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonPointsRefused, err.Error()))
	case err != nil:
		wait := r.outage.failed(r.Now(), err)
		log.FromContext(ctx).Info("The recorder is not available", "reason", err.Error(), "again", wait.String())
		return settle(ctrl.Result{RequeueAfter: wait}, r.say(ctx, b, metav1.ConditionFalse, v1alpha1.ReasonRecorderUnavailable, r.outage.message()))
	}
	r.outage.over()
	return settle(ctrl.Result{}, r.say(ctx, b, metav1.ConditionTrue, v1alpha1.ReasonRecorded, fmt.Sprintf("the recorder has %d rows", b.Status.Results.Rows)))
}

// lines are the points of the run and of its rows. They equal those of the runner, which has
// planned the same and begun at the same time. A brokenError means that there are none.
func (r *recordReconciler) lines(ctx context.Context, b *v1alpha1.Benchmark) ([][]byte, error) {
	content, err := stored.Content(ctx, r.live, b)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &brokenError{err}
	case err != nil:
		return nil, err
	case content.Profile == nil || content.Bed == nil:
		return nil, &brokenError{errors.New("the profile or the bed of the run was not stored")}
	}
	run, err := metrics.NewRun(b, content.Profile, content.Bed, b.Status.StartTime.Time)
	if err != nil {
		return nil, &brokenError{err}
	}
	points, err := run.Rows(content.Rows)
	if err != nil {
		return nil, &brokenError{err}
	}
	if e := content.Environment; e != nil {
		points = append(points, run.Point(content.Bed.Spec.Engine.Kind, e.NoDropVersion))
	}
	lines, err := metrics.Lines(points)
	if err != nil {
		return nil, &brokenError{err}
	}
	return lines, nil
}

// hand hands lines over to the recorder.
func (b base) hand(ctx context.Context, lines [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return b.Metrics.Record(ctx, lines)
}

// say writes the condition when its reason changes, not at every attempt.
func (r *recordReconciler) say(ctx context.Context, b *v1alpha1.Benchmark, status metav1.ConditionStatus, reason, message string) error {
	if reasonOf(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) == reason {
		return nil
	}
	before := b.DeepCopy()
	setCondition(&b.Status.Conditions, r.Now(), b.Generation, metav1.Condition{Type: v1alpha1.ConditionMetricsRecorded, Status: status, Reason: reason, Message: message})
	if err := r.Client.Status().Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing what the recorder has: %w", err)
	}
	return nil
}
