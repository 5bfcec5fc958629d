package beds

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// Reconciler determines whether a bed can be leased, probes its interfaces, and ends leases whose
// holder is gone.
type Reconciler struct{ kit.Base }

// openRecheck is the factor by which a ready bed is checked less often.
const openRecheck = 4

// usualCheck returns the time to the next check of a bed of which nothing is waited for.
func (r *Reconciler) usualCheck(bed *v1alpha1.TestBed) time.Duration {
	if kit.IsOpen(bed) {
		return openRecheck * r.Recheck
	}
	return r.Recheck
}

// Reconcile checks a bed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	bed := &v1alpha1.TestBed{}
	if err := r.Live.Get(ctx, req.NamespacedName, bed); err != nil {
		r.Timers.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := bed.DeepCopy()
	now := r.Now()
	after, unreturned := r.orphan(ctx, bed, now)
	probing, unchecked := r.ready(ctx, bed, now)
	failures := []error{unreturned, unchecked}
	if err := r.patchStatus(ctx, before, bed); err != nil {
		failures = append(failures, err)
	} else {
		r.countBed(before, bed)
		if unreturned == nil || !kit.IsQuarantined(bed) { // The annotation stays until it has released the bed.
			failures = append(failures, r.patchMeta(ctx, bed))
		}
	}
	if after == 0 {
		after = r.usualCheck(bed)
	}
	if probing > 0 {
		after = min(after, probing)
	}
	return kit.Settle(ctrl.Result{RequeueAfter: after}, failures...)
}

func (r *Reconciler) patchStatus(ctx context.Context, before, bed *v1alpha1.TestBed) error {
	if equality.Semantic.DeepEqual(before.Status, bed.Status) {
		return nil
	}
	bed.Status.ObservedGeneration = bed.Generation
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, bed, patch); err != nil {
		return fmt.Errorf("storing the status of test bed %s: %w", bed.Name, err)
	}
	return nil
}

// patchMeta keeps the finalizer on a bed until it is deleted and free, and removes the
// annotation that released a quarantine once it has worked, so that it does not release
// the next one.
func (r *Reconciler) patchMeta(ctx context.Context, bed *v1alpha1.TestBed) error {
	before := bed.DeepCopy()
	_, changed := bed.Annotations[v1alpha1.AnnotationReleaseQuarantine]
	delete(bed.Annotations, v1alpha1.AnnotationReleaseQuarantine)
	if _, asked := bed.Annotations[v1alpha1.AnnotationRestoreBase]; asked && !restoresBase(bed) {
		delete(bed.Annotations, v1alpha1.AnnotationRestoreBase)
		changed = true
	}
	if bed.DeletionTimestamp.IsZero() {
		changed = controllerutil.AddFinalizer(bed, v1alpha1.FinalizerLeased) || changed
	} else if bed.Status.Lease == nil {
		changed = controllerutil.RemoveFinalizer(bed, v1alpha1.FinalizerLeased) || changed
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, bed, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing the finalizers of test bed %s: %w", bed.Name, err)
	}
	return nil
}
