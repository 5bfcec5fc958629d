package kit

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/measure/calibration"
)

// IndexLease is the index of beds by the UID of the benchmark that has them.
const IndexLease = "status.lease.uid"

// LeaseUID returns the UID of the benchmark that has a bed, for an index; nil if none has it.
func LeaseUID(o client.Object) []string {
	if bed, ok := o.(*v1alpha1.TestBed); ok && bed.Status.Lease != nil {
		return []string{bed.Status.Lease.UID}
	}
	return nil
}

// HeldBeds returns the beds that a benchmark has, as the cache from which the reader reads
// knows them.
func HeldBeds(ctx context.Context, reader client.Reader, uid string) ([]v1alpha1.TestBed, error) {
	var beds v1alpha1.TestBedList
	if err := reader.List(ctx, &beds, client.MatchingFields{IndexLease: uid}); err != nil {
		return nil, fmt.Errorf("listing the beds of a benchmark: %w", err)
	}
	return beds.Items, nil
}

// HasLease reports whether a bed is leased to a run.
func HasLease(bed *v1alpha1.TestBed, run labobjects.Run) bool {
	return bed.Status.Lease != nil && RunOf(bed.Status.Lease) == (labobjects.Run{UID: run.UID, Attempt: run.Attempt})
}

// RunOf is the run that a lease is for, without the name of the benchmark.
func RunOf(l *v1alpha1.BedLease) labobjects.Run {
	return labobjects.Run{UID: l.UID, Attempt: l.Attempt}
}

// ReleaseBed removes the lease of a bed if the run has it. The patch tests that, so that
// it needs no earlier read, and no lock that others could break.
func ReleaseBed(ctx context.Context, writer client.StatusClient, live client.Reader, name string, run labobjects.Run) error {
	bed := &v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := writer.Status().Patch(ctx, bed, jsonPatch([]operation{
		{"test", "/status/lease/uid", run.UID},
		{"test", "/status/lease/attempt", NumberOrAbsent(run.Attempt)},
		{"remove", "/status/lease", nil},
	}))
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsInvalid(err) {
		// Most likely the test failed: another operator released it.
		if reading := live.Get(ctx, client.ObjectKey{Name: name}, bed); reading == nil && !HasLease(bed, run) {
			return nil
		}
	}
	return fmt.Errorf("releasing test bed %s: %w", name, err)
}

// Returned reports whether a bed is leased to a run that has ended and left nothing in the lab. The
// allocator leases such a bed to the next benchmark, which saves the write of the release, or
// removes the lease.
func Returned(bed *v1alpha1.TestBed, b *v1alpha1.Benchmark) bool {
	return Releasable(bed) && b.Status.Phase.Finished() && IsTrue(b.Status.Conditions, v1alpha1.ConditionCleanedUp) &&
		b.Status.TestBedName == bed.Name && HasLease(bed, labobjects.RunOf(b))
}

// Releasable reports whether a bed has a lease that can be removed once its run has left nothing in
// the lab. The controller of beds removes others.
func Releasable(bed *v1alpha1.TestBed) bool {
	return bed.Status.Lease != nil && bed.Status.Lease.End == nil &&
		meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionQuarantined) == nil
}

// NumberOrAbsent returns the value that a patch finds in a field that is omitted if it is 0, and
// writes to it.
func NumberOrAbsent(n int32) any {
	if n == 0 {
		return nil
	}
	return n
}

// AcceptedMessage is the message of the condition Accepted.
const AcceptedMessage = "profile, bed and tests fit together"

// Waits reports whether a benchmark waits for a bed.
func Waits(b *v1alpha1.Benchmark) bool {
	return b.DeletionTimestamp.IsZero() && !b.Spec.Abort && b.Status.Outcome == "" && b.Status.TestBedName == "" &&
		!b.Status.Phase.Finished()
}

// IsOpen reports whether a bed takes benchmarks, whether or not one has it now.
func IsOpen(bed *v1alpha1.TestBed) bool {
	ready := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	return !bed.Spec.Unschedulable && bed.DeletionTimestamp.IsZero() &&
		controllerutil.ContainsFinalizer(bed, v1alpha1.FinalizerLeased) &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == bed.Generation
}

// AwaitsProbe reports whether a bed that was returned must be probed before its next lease.
func AwaitsProbe(bed *v1alpha1.TestBed) bool {
	return bed.Status.Lease == nil && bed.Status.Health != nil && bed.Status.Health.Doubted
}

// LeaseOf returns the lease of a bed; nil if there is no bed or no lease.
func LeaseOf(bed *v1alpha1.TestBed) *v1alpha1.BedLease {
	if bed == nil {
		return nil
	}
	return bed.Status.Lease
}

// ReservationOf returns the key of the reservation in whose time a benchmark runs; zero
// without one.
func ReservationOf(b *v1alpha1.Benchmark) queue.Key {
	if b.Spec.ReservationName == "" {
		return queue.Key{}
	}
	return queue.Key(types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ReservationName})
}

// Return returns the time after which a bed that has to be returned is taken back, whatever the
// status of its holder contains. Until the holder has stored that it returns the bed, this is
// enough for a last poll of the runner; from then on for a clean-up that ends in a quarantine.
func (d Deadlines) Return(holder *v1alpha1.Benchmark) time.Duration {
	if holder.Status.Outcome == "" && holder.Status.Preemption == nil {
		return d.CleanUp
	}
	return 3 * d.CleanUp
}

// HoldOf returns the longest time for which a benchmark has a bed that it gets now, as far as
// operators run: what is left of its deadline, which all its runs together are held to, and the clean-up. How long a run is
// expected to take is an estimate, and no bound. Hooks after the lease come in addition.
func (d Deadlines) HoldOf(b *v1alpha1.Benchmark) time.Duration {
	return Seconds(max(b.Spec.ActiveDeadlineSeconds-b.Status.ActiveSeconds, 0)) + d.CleanUp + LeaseMargin
}

// Recalendar is the interval at which the calendar is computed if no object changes: it covers
// reservation.Horizon, and grows by the time that has passed.
const Recalendar = time.Hour

// Begun reports whether a benchmark got its bed, and all of its gang did.
func Begun(b *v1alpha1.Benchmark) bool {
	return b.Status.TestBedName != "" || b.Status.StartTime != nil
}

// IsHeld reports whether a benchmark that waits is kept out of the queue of its bed: by
// spec.suspend, or until Kueue admits it.
func IsHeld(b *v1alpha1.Benchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionQuotaReserved)
	switch {
	case b.Spec.Suspend:
		return true
	case c == nil:
		return QueueNameOf(b) != ""
	default:
		// The condition also holds one whose label was removed.
		return c.Status != metav1.ConditionTrue
	}
}

// Shared returns what two beds share and only one benchmark has at a time, such as "interface lab-1/eth1";
// empty if they share nothing. A bed and the one that calibrates it have the same ports.
func Shared(a, b *v1alpha1.TestBed) string {
	own := map[string]bool{}
	for _, name := range calibration.Exclusive(a) {
		own[name] = true
	}
	for _, name := range calibration.Exclusive(b) {
		if own[name] {
			return name
		}
	}
	return ""
}

// Conflicting returns a leased bed that shares something with this one, and what; nil without one.
func Conflicting(bed *v1alpha1.TestBed, conflicts []string, bedOf func(string) *v1alpha1.TestBed) (other *v1alpha1.TestBed, shared string) {
	for _, name := range conflicts {
		if other := bedOf(name); other != nil && other.Status.Lease != nil {
			return other, Shared(bed, other)
		}
	}
	return nil, ""
}

// LeaseMargin is the time from a decision until the benchmark is seen to have its bed, which
// counts as part of its run. A lease that is not about to be written after half of it is
// decided again.
const LeaseMargin = time.Minute

// QueueNameOf is the LocalQueue of Kueue by which a benchmark is admitted.
func QueueNameOf(b *v1alpha1.Benchmark) string { return b.Labels[v1alpha1.LabelQueueName] }
