package storing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

const (
	// archiveWorkers bounds how many results are in memory at once.
	archiveWorkers = 2
	// archiveTimeout bounds one attempt to write a result.
	archiveTimeout = 5 * time.Minute
	// archiveBackoff is the shortest time between two attempts; the longest is the option
	// ArchiveRetry.
	archiveBackoff = time.Second
)

// ArchiveReconciler writes the result of every finished benchmark to the archive.
// Finalizers keep the benchmark and what is stored of it until that is done.
type ArchiveReconciler struct {
	kit.Base
	outage outage
}

// NewArchiveReconciler returns the controller of the archive.
func NewArchiveReconciler(b kit.Base) *ArchiveReconciler {
	return &ArchiveReconciler{Base: b, outage: outage{what: "the archive", longest: b.ArchiveRetry}}
}

// Setup adds the controller of the archive to a manager.
func (r *ArchiveReconciler) Setup(mgr ctrl.Manager) error {
	if err := mgr.Add(&unarchivedSweep{r.Base}); err != nil {
		return fmt.Errorf("adding the sweep of what is left: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("archive").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(archiveMoved())).
		WithOptions(atArchivePace(r.Base, archiveWorkers)).
		Complete(r)
}

// atArchivePace are the options of a controller of finished benchmarks: it tries again after archiveBackoff, and then ever later.
func atArchivePace(b kit.Base, workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](min(archiveBackoff, b.ArchiveRetry), b.ArchiveRetry),
	}
}

// archiveMoved passes events that bring a benchmark closer to the archive, or to its
// deletion.
func archiveMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
			after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
			return ok1 && ok2 && (before.Status.Phase.Finished() != after.Status.Phase.Finished() ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
				kit.IsArchived(before) != kit.IsArchived(after) || kit.AwaitsRecorder(before) != kit.AwaitsRecorder(after))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile archives a finished benchmark and removes the finalizers of archived
// ones. It reads the benchmark from the cache: a finished one changes no more, and
// what is written tests what it depends on.
func (r *ArchiveReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case r.Archive == nil || kit.IsArchived(b):
		return r.release(ctx, b)
	case !b.Status.Phase.Finished():
		return kit.Settle(ctrl.Result{}, r.hold(ctx, b))
	}
	if wait := r.outage.wait(r.Now()); wait > 0 {
		return kit.Settle(ctrl.Result{RequeueAfter: wait}, r.explain(ctx, b, v1alpha1.ReasonArchiveUnavailable, r.outage.message()))
	}
	reference, err := r.put(ctx, b)
	if apart.CauseOf(err) == apart.CauseUnreadable || apart.CauseOf(err) == apart.CauseEnded || apart.CauseOf(err) == apart.CauseMissing {
		r.Counts.Archived(opmetrics.Unreadable)
		return kit.Settle(ctrl.Result{}, err, r.explain(ctx, b, v1alpha1.ReasonResultUnreadable, err.Error()))
	}
	switch {
	case apart.CauseOf(err) == apart.CauseDifferent:
		r.Counts.Archived(opmetrics.Conflict)
		return kit.Settle(ctrl.Result{}, err, r.explain(ctx, b, v1alpha1.ReasonArchiveConflict, err.Error()+": move it away"))
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // The operator stops.
	case err != nil:
		r.Counts.Archived(opmetrics.Unavailable)
		wait := r.outage.failed(r.Now(), err)
		log.FromContext(ctx).Info("The archive is not available", "archive", r.Archive.URL(), "reason", err.Error(), "again", wait.String())
		return kit.Settle(ctrl.Result{RequeueAfter: wait}, r.explain(ctx, b, v1alpha1.ReasonArchiveUnavailable, r.outage.message()))
	}
	r.outage.over()
	if err := r.record(ctx, b, reference); err != nil {
		return kit.Settle(ctrl.Result{}, err)
	}
	r.Counts.Archived(opmetrics.Stored)
	if ended := b.Status.CompletionTime; ended != nil {
		r.Counts.Phase(opmetrics.Archiving, r.Now().Sub(ended.Time))
	}
	return r.release(ctx, b)
}

// release removes the finalizers, once the recorder of the lab has the rows too. A benchmark
// that is being deleted waits some minutes for that.
func (r *ArchiveReconciler) release(ctx context.Context, b *v1alpha1.Benchmark) (ctrl.Result, error) {
	if r.Archive != nil && r.Metrics != nil && kit.AwaitsRecorder(b) {
		if b.DeletionTimestamp.IsZero() {
			return ctrl.Result{}, nil
		}
		before := b.DeepCopy()
		if !r.Timers.Overdue(b, &b.Status.Wait, v1alpha1.ReasonRecorderUnavailable, r.Now(), recorderPatience) {
			return kit.Settle(ctrl.Result{RequeueAfter: min(recorderPatience/recorderChecks, r.Sweep)}, r.patchStatus(ctx, before, b))
		}
		log.FromContext(ctx).Info("A benchmark is deleted before the recorder has its rows, which are in the archive only")
	}
	return kit.Settle(ctrl.Result{}, releaseKept(ctx, &r.Base, b))
}

// put writes the result of a benchmark to the archive: a large one in a process of its own, if there is
// one for it.
func (r *ArchiveReconciler) put(ctx context.Context, b *v1alpha1.Benchmark) (reference v1alpha1.ArchiveReference, _ error) {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	if r.Apart == nil || !stored.IsLarge(b) {
		return apart.Put(ctx, r.Live, r.Archive, b)
	}
	var text bytes.Buffer
	if err := r.Apart.Do(ctx, apart.Task{Archive: r.Archive.URL(), Put: new(apart.Of(b))}, &text); err != nil {
		return reference, err
	}
	if err := json.Unmarshal(text.Bytes(), &reference); err != nil {
		return reference, fmt.Errorf("reading the reference of an archived result: %w", err)
	}
	return reference, nil
}

// record writes into the status where the result is.
func (r *ArchiveReconciler) record(ctx context.Context, b *v1alpha1.Benchmark, reference v1alpha1.ArchiveReference) error {
	before := b.DeepCopy()
	if b.Status.Results == nil {
		b.Status.Results = &v1alpha1.ResultSummary{}
	}
	b.Status.Results.Archive = &reference
	r.condition(b, metav1.ConditionTrue, v1alpha1.ReasonArchived, "the result is at "+reference.URL)
	if err := r.patchStatus(ctx, before, b); err != nil {
		return err
	}
	log.FromContext(ctx).Info("The result was archived", "url", reference.URL, "sha256", reference.SHA256, "bytes", reference.Bytes)
	return nil
}

// explain writes the reason why the result is not archived yet to the status. It writes when
// the reason changes, not at every attempt.
func (r *ArchiveReconciler) explain(ctx context.Context, b *v1alpha1.Benchmark, reason, message string) error {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionArchived); c != nil && c.Reason == reason {
		return nil
	}
	before := b.DeepCopy()
	r.condition(b, metav1.ConditionFalse, reason, message)
	return r.patchStatus(ctx, before, b)
}

func (r *ArchiveReconciler) condition(b *v1alpha1.Benchmark, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionArchived, Status: status, Reason: reason, Message: kit.Truncated(message),
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(r.Now()),
	})
}

func (r *ArchiveReconciler) patchStatus(ctx context.Context, before, b *v1alpha1.Benchmark) error {
	return kit.PatchStatus(ctx, r.Client, r.Live, before, b)
}

// hold keeps a benchmark that has its bed until its result is archived. It matters
// when an archive was configured while the benchmark ran; otherwise the finalizer
// exists since it has its bed.
func (r *ArchiveReconciler) hold(ctx context.Context, b *v1alpha1.Benchmark) error {
	if !b.DeletionTimestamp.IsZero() || b.Status.TestBedName == "" {
		return nil
	}
	return kit.HoldForArchive(ctx, r.Client, b)
}
