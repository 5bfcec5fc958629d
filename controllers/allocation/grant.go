package allocation

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// Waits before a grant is tried again. After a few conflicts the bed is kept for the
// benchmark, so that no later one overtakes it; after more of them, which its team can cause
// without end, or another failure later ones may have the bed, so that the queue is not blocked.
const (
	retryConflict   = 50 * time.Millisecond
	retryFailure    = time.Second
	retryFailureMax = time.Minute
	// conflictsAllowed is the number of conflicts in a row after which the next is a failure.
	conflictsAllowed = 5
)

// grants begins the leases that the queue decided on, and repeats those that failed.
type grants struct {
	view     *view
	requests *requests
	leases   *leaseWriter
	// budget belongs to the display; leases come first in it.
	budget *budget
	// failed are the benchmarks that wait to be tried again.
	failed map[queue.Key]bool
}

// grant begins to write a lease, and assumes it until the write is done.
func (g *grants) grant(ctx context.Context, d queue.Decision, now time.Time) {
	key, name := d.Entry.Key, d.Bed
	inv := g.view.inventory
	w, seen := inv.benchmarks[key], inv.beds[name]
	w.granting, seen.granting = true, &key
	g.budget.lease(now)
	g.view.line.queue.Remove(key)
	b, bed, queued := w.b, seen.bed, int32(g.view.line.queue.Waiting(name))
	had := w.hadBed()
	latest := g.view.now().Add(kit.LeaseMargin / 2)
	g.requests.begin(func() written {
		leased, err := g.leases.lease(ctx, b, bed, had, queued, latest)
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The bed could not be leased", "benchmark", key.String(), "bed", name)
		}
		return func(now time.Time) { g.granted(key, name, leased, err, now) }
	})
}

// granted ends the assumption: the bed is leased, or the benchmark waits again.
func (g *grants) granted(key queue.Key, name string, leased *v1alpha1.TestBed, err error, now time.Time) {
	inv := g.view.inventory
	w, seen := inv.benchmarks[key], inv.beds[name]
	if seen != nil {
		seen.granting = nil
		if err == nil {
			seen.shown.time = now // With the lease it was stored how many wait.
		} else {
			seen.retry = now.Add(retryConflict)
		}
	}
	if err == nil {
		g.view.applyWritten(leased)
	}
	if w == nil {
		return
	}
	w.granting = false
	switch {
	case err == nil:
		w.failures, w.conflicts = 0, 0
	case apierrors.IsConflict(err) && w.conflicts < conflictsAllowed:
		w.conflicts++
	default:
		w.retry = now.Add(min(retryFailure<<min(w.failures, 6), retryFailureMax))
		w.failures++
		g.failed[key] = true
	}
	g.view.line.place(w)
}

// releaseRest removes the leases of benchmarks that have ended from beds that no other one gets now.
func (g *grants) releaseRest(ctx context.Context, now time.Time) {
	for name, seen := range g.view.inventory.beds {
		if seen.releasing || seen.retry.After(now) || !g.view.ended.returned(seen) {
			continue
		}
		seen.releasing = true
		run := kit.RunOf(seen.bed.Status.Lease)
		g.requests.begin(func() written {
			err := g.leases.release(ctx, name, run)
			if err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "The bed could not be released", "bed", name)
			}
			return func(now time.Time) {
				if seen := g.view.inventory.beds[name]; seen != nil && err != nil {
					seen.releasing, seen.retry = false, now.Add(retryFailure)
				}
			}
		})
	}
}

// retryAfter returns when a write that failed is due again, and ends the waits that
// are over.
func (g *grants) retryAfter(now time.Time) time.Duration {
	next := time.Hour
	for _, seen := range g.view.inventory.beds {
		if d := seen.retry.Sub(now); d > 0 {
			next = min(next, d)
		}
	}
	for key := range g.failed {
		w := g.view.inventory.benchmarks[key]
		if w == nil || w.retry.IsZero() {
			delete(g.failed, key)
			continue
		}
		if d := w.retry.Sub(now); d > 0 {
			next = min(next, d)
			continue
		}
		delete(g.failed, key)
		w.retry = time.Time{}
		g.view.line.place(w)
		next = 0
	}
	return max(next, time.Millisecond)
}
