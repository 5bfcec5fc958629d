package beds

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// watchHolder ends the lease of a benchmark that had to return the bed and has not done so in
// time. Its own controller ends a benchmark much earlier; this is for one whose status cannot
// be written, for whatever reason. It needs only the lease, which teams cannot write. It returns
// when to check again, 0 for the usual time.
//
// The clean-up begins with the next check: the end is stored by then, and the controller of
// benchmarks starts nothing more on the bed.
func (r *Reconciler) watchHolder(bed *v1alpha1.TestBed, holder *v1alpha1.Benchmark, now time.Time) time.Duration {
	lease := bed.Status.Lease
	active := r.Timers.Leased(bed, now)
	reason := returnReason(lease, holder, active)
	if reason == "" {
		r.Timers.Over(bed, &bed.Status.Wait)
		if left := kit.Seconds(lease.DeadlineSeconds) - active; left > 0 && left < r.usualCheck(bed) {
			return left
		}
		return 0
	}
	limit := r.Deadlines.Return(holder) + bed.Spec.Hooks.TimeAfterLease()
	if !r.Timers.Overdue(bed, &bed.Status.Wait, reason, now, limit) {
		return min(r.Recheck, limit/checksOfReturn)
	}
	lease.End = &v1alpha1.LeaseEnd{Reason: reason, Time: metav1.NewTime(now)}
	r.Timers.Over(bed, &bed.Status.Wait)
	return r.Poll
}

// checksOfReturn is the number of checks within the time in which a bed must be returned.
const checksOfReturn = 20

// returnReason returns why a benchmark has to return its bed, which operators have seen it have
// for a time; "" if it may keep the bed.
func returnReason(lease *v1alpha1.BedLease, holder *v1alpha1.Benchmark, active time.Duration) string {
	switch {
	case !holder.DeletionTimestamp.IsZero(), holder.Spec.Abort:
		return v1alpha1.ReasonAborted
	case lease.Preemption != nil && holder.Spec.Preemptible:
		return v1alpha1.ReasonPreempted
	case lease.DeadlineSeconds > 0 && active >= kit.Seconds(lease.DeadlineSeconds):
		return v1alpha1.ReasonDeadlineExceeded
	}
	return ""
}

// whyTakenBack describes why the operator cleans up after the holder of a lease.
func whyTakenBack(lease *v1alpha1.BedLease) string {
	if lease.End == nil {
		return "does not exist any more"
	}
	return fmt.Sprintf("did not return it in time (%s)", lease.End.Reason)
}
