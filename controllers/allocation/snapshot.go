package allocation

import (
	"time"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// snapshot returns the state on which the queue decides.
func (v *view) snapshot(now time.Time) queue.Snapshot {
	beds := v.inventory.beds
	s := queue.Snapshot{Beds: make(map[string]queue.Bed, len(beds)), Running: map[string]int{}, Now: v.now(), Aging: v.teams.aging()}
	for name, seen := range beds {
		s.Beds[name] = queue.Bed{
			Name: name, Open: kit.IsOpen(seen.bed) && !kit.AwaitsProbe(seen.bed), Conflicts: seen.conflicts, Reserved: seen.reserved,
			Leased: seen.bed.Status.Lease != nil && !v.passesOn(seen) || seen.granting != nil || seen.retry.After(now),
			Pool:   v.teams.poolOf(seen.bed), Lease: v.leaseOf(seen), Promised: v.promises[name],
		}
		v.countRunning(s.Running, seen)
	}
	v.shares.stand(&s)
	return s
}

// passesOn reports whether a bed can be leased to the next benchmark although the lease of one that
// has ended is still stored. A bed that shares an interface is released first: who takes such a bed over looks for leases
// of the others.
func (v *view) passesOn(seen *bedView) bool {
	return len(seen.conflicts) == 0 && !seen.releasing && v.ended.returned(seen)
}

// leaseOf returns the lease of a bed in the form of the queue, or nil without a lease.
func (v *view) leaseOf(seen *bedView) *queue.Lease {
	l := seen.lease()
	if l == nil || v.passesOn(seen) {
		return nil
	}
	lease := &queue.Lease{Holder: seen.holder(), Since: l.AcquireTime.Time}
	if l.Preemption != nil {
		lease.By = keyOf(l.Preemption.By)
	}
	if w := v.inventory.benchmarks[lease.Holder]; w != nil && w.b.Status.Outcome == "" && !w.b.Spec.Abort && !seen.preempting {
		lease.Priority, _ = team.Priority(v.teams.policy, w.b)
		lease.Preemptible = w.b.Spec.Preemptible
	}
	return lease
}

// countRunning counts the holder of a bed under the limits that it has there.
func (v *view) countRunning(running map[string]int, seen *bedView) {
	w := v.inventory.benchmarks[seen.holder()]
	if w == nil {
		return
	}
	for _, l := range v.teams.limits(seen.bed, w.b) {
		running[l.Key]++
	}
}
