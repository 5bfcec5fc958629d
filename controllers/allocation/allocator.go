package allocation

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// gathering is the time for which the allocator waits for further events after an event, so
// that one decision covers all of them.
const gathering = 10 * time.Millisecond

// Allocator decides which waiting benchmark gets which bed. It is the only one that
// takes leases, and the only one that writes the status of a benchmark that waits.
//
// Watches report what changed. A cycle brings the allocator's view up to date with
// it, calls package queue for a decision, and starts the writes of the leases. The view is the
// cache plus the leases that the allocator has written or is writing, so that a cycle
// waits neither for the API server nor for the cache.
type Allocator struct {
	base  kit.Base
	cache cache.Cache
	inbox *inbox

	// All that follows belongs to the goroutine of Start.

	// view is the state of the lab, and requests are the writes that will change it.
	view     *view
	requests *requests
	// grants, preemption and parts give and take beds.
	grants     *grants
	preemption *preemption
	parts      *parts
	// display tells people what happens, and meter adds up the use of beds for the recorder.
	display *display
	meter   *meter
}

var (
	_ manager.Runnable               = (*Allocator)(nil)
	_ manager.LeaderElectionRunnable = (*Allocator)(nil)
)

// New returns an allocator, which reads objects from a cache.
func New(b kit.Base, c cache.Cache) *Allocator {
	in, v := newInbox(), newView(b.Options)
	r, w := newRequests(in), newLeaseWriter(b)
	d := newDisplay(b, v, r)
	return &Allocator{
		base: b, cache: c, inbox: in, view: v, requests: r,
		grants:     &grants{view: v, requests: r, leases: w, budget: d.budget, failed: map[queue.Key]bool{}},
		preemption: &preemption{view: v, requests: r, leases: w},
		parts:      &parts{gangs: v.gangs, line: v.line, requests: r, leases: w},
		display:    d,
		meter:      &meter{inventory: v.inventory},
	}
}

// NeedLeaderElection reports whether only the leader allocates.
func (a *Allocator) NeedLeaderElection() bool { return true }

// Start allocates until the context ends.
func (a *Allocator) Start(ctx context.Context) error {
	if err := watch(ctx, a.cache, a.inbox); err != nil {
		return err
	}
	defer a.requests.wait()
	a.meter.from = time.Now()
	a.base.Counts.Lead(a)
	defer a.base.Counts.Lead(nil)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-a.inbox.wake:
			if !kit.Sleep(ctx, gathering) {
				return nil
			}
		}
		timer.Reset(a.cycle(ctx))
	}
}

// cycle decides once, and returns when to decide again even if nothing happens.
func (a *Allocator) cycle(ctx context.Context) time.Duration {
	ch := a.inbox.take()
	now, v := time.Now(), a.view
	v.apply(ch, now)
	a.meter.add(now)
	v.calendar.keep(a.base.Now())
	for _, d := range v.line.queue.Decide(v.snapshot(now)) {
		a.grants.grant(ctx, d, now)
	}
	a.grants.releaseRest(ctx, now)
	a.preemption.preempt(ctx, now)
	parts := a.parts.returnAll(ctx, now)
	for _, answer := range ch.asked {
		answer()
	}
	return min(a.display.show(ctx, now), a.grants.retryAfter(now), v.calendar.nextAfter(a.base.Now()), parts)
}
