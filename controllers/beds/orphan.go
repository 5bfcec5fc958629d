package beds

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// orphan ends a lease that no controller will release: its benchmark does not exist or
// is finished. It cleans up after the run first. It returns when to check again, 0 for the usual time.
func (r *Reconciler) orphan(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) (time.Duration, error) {
	if _, released := bed.Annotations[v1alpha1.AnnotationReleaseQuarantine]; kit.IsQuarantined(bed) && !released {
		return 0, nil
	} else if kit.IsQuarantined(bed) {
		if bed.Status.Lease != nil {
			if err := r.RunObjects().Forgive(ctx, runOf(bed.Status.Lease), bed); err != nil {
				return r.Poll, err
			}
		}
		setRecovering(bed, now, "released by "+v1alpha1.AnnotationReleaseQuarantine+"; cleaning up once more")
	}
	if bed.Status.Lease == nil {
		r.Timers.Over(bed, &bed.Status.Wait)
		meta.RemoveStatusCondition(&bed.Status.Conditions, v1alpha1.ConditionQuarantined)
		return 0, nil
	}
	holder, err := r.holder(ctx, bed.Status.Lease)
	if err != nil {
		return 0, err
	}
	if holder != nil && bed.Status.Lease.End == nil {
		if elsewhere := holder.Status.TestBedName; elsewhere != "" && elsewhere != bed.Name {
			// The benchmark got two beds, from two operators that both believed to lead. It
			// uses the one that it names; on this one nothing was started.
			r.Timers.Over(bed, &bed.Status.Wait)
			bed.Status.Lease = nil
			return 0, nil
		}
		return r.watchHolder(bed, holder, now), nil
	}
	if meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionQuarantined) == nil {
		setRecovering(bed, now, fmt.Sprintf("benchmark %s, which has the bed, %s; cleaning up after it", bed.Status.Lease.Holder, whyTakenBack(bed.Status.Lease)))
	}
	namespace, name, _ := strings.Cut(bed.Status.Lease.Holder, "/")
	if r.InProgress.Has(types.NamespacedName{Namespace: namespace, Name: name}) {
		return r.Poll, nil
	}
	left, err := r.RunObjects().CleanUp(ctx, runOf(bed.Status.Lease))
	if err != nil {
		return r.Poll, err
	}
	if left.What == "" {
		bed.Status.Lease = nil
		r.Timers.Over(bed, &bed.Status.Wait)
		meta.RemoveStatusCondition(&bed.Status.Conditions, v1alpha1.ConditionQuarantined)
		return 0, nil
	}
	if left.Final || r.Timers.Overdue(bed, &bed.Status.Wait, v1alpha1.ReasonCleanUpFailed, now, r.Deadlines.CleanUp+left.Allowed) {
		reason, message := kit.NotCleanedUp(bed.Status.Wait, left)
		kit.SetQuarantine(bed, now, bed.Status.Lease.Holder, reason, message)
		r.Timers.Over(bed, &bed.Status.Wait)
		return 0, nil
	}
	return r.Poll, nil
}

// runOf returns the run that has a lease, with the name of its benchmark for people.
func runOf(lease *v1alpha1.BedLease) labobjects.Run {
	run := kit.RunOf(lease)
	run.Namespace, run.Name, _ = strings.Cut(lease.Holder, "/")
	return run
}

// holder returns the benchmark that has a lease and will release it; nil when the API
// server, not only the cache, has none. A version of the cache that is older than the attempt of the lease does
// not count: the bed in its status may be the bed of an earlier attempt.
func (r *Reconciler) holder(ctx context.Context, lease *v1alpha1.BedLease) (*v1alpha1.Benchmark, error) {
	namespace, name, _ := strings.Cut(lease.Holder, "/")
	for i, reader := range []client.Reader{r.Client, r.Live} {
		b := &v1alpha1.Benchmark{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, b)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading benchmark %s: %w", lease.Holder, err)
		}
		behind := i == 0 && b.Status.Attempt < lease.Attempt
		if err == nil && string(b.UID) == lease.UID && !b.Status.Phase.Finished() && !behind {
			return b, nil
		}
	}
	return nil, nil
}

func setRecovering(bed *v1alpha1.TestBed, now time.Time, message string) {
	kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, metav1.Condition{
		Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCleaningUp, Message: message,
	})
}
