package allocation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
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
	kit.Base
	cache cache.Cache
	inbox *inbox

	// All that follows belongs to the goroutine of Start.

	queue      *queue.Queue
	benchmarks map[queue.Key]*waiter
	beds       map[string]*bedView
	profiles   map[queue.Key]*v1alpha1.TrafficProfile
	namespaces map[string]*corev1.Namespace
	classes    map[classKey]*class
	gangs      map[queue.Key]*gang
	// holders are the beds by the UID of the benchmark that has them.
	holders  map[string]string
	calendar calendar
	// policy is the LabPolicy that defines how teams share beds; nil without one. Sharing
	// keeps the accounts of the teams.
	policy  *v1alpha1.LabPolicy
	sharing *queue.Sharing
	past    past
	// promises maps a bed to the benchmark for which it is being taken from its holder.
	promises map[string]queue.Key
	forecast forecast
	shown    display
	writes   writes
	// usesFrom is the time at which the current sum of the use of beds began.
	usesFrom time.Time
}

var (
	_ manager.Runnable               = (*Allocator)(nil)
	_ manager.LeaderElectionRunnable = (*Allocator)(nil)
)

// New returns an allocator, which reads objects from a cache.
func New(b kit.Base, c cache.Cache) *Allocator {
	return &Allocator{
		Base: b, cache: c,
		inbox:      newInbox(),
		queue:      queue.New(),
		benchmarks: map[queue.Key]*waiter{},
		beds:       map[string]*bedView{},
		profiles:   map[queue.Key]*v1alpha1.TrafficProfile{},
		namespaces: map[string]*corev1.Namespace{},
		classes:    map[classKey]*class{},
		gangs:      map[queue.Key]*gang{},
		holders:    map[string]string{},
		calendar:   newCalendar(),
		past:       newPast(),
		promises:   map[string]queue.Key{},
		shown:      newDisplay(),
		writes:     newWrites(),
	}
}

// NeedLeaderElection reports whether only the leader allocates.
func (a *Allocator) NeedLeaderElection() bool { return true }

// Start allocates until the context ends.
func (a *Allocator) Start(ctx context.Context) error {
	if err := watch(ctx, a.cache, a.inbox); err != nil {
		return err
	}
	defer a.writes.wait()
	a.usesFrom = time.Now()
	a.Counts.Lead(a)
	defer a.Counts.Lead(nil)
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
	now := time.Now()
	a.apply(ch, now)
	a.use(now)
	a.keepCalendar(a.Now())
	for _, d := range a.queue.Decide(a.snapshot(now)) {
		a.grant(ctx, d)
	}
	a.preempt(ctx, now)
	parts := a.returnParts(ctx, now)
	for _, answer := range ch.asked {
		answer()
	}
	return min(a.show(ctx, now), a.retryAfter(now), a.boundaryAfter(), parts)
}
