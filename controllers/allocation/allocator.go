package allocation

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// wake has an element when changes are there.
	wake chan struct{}

	mu sync.Mutex
	// changes contains the changes that watches and writes reported since the last cycle.
	// Guarded by mu.
	changes changes

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
		wake:       make(chan struct{}, 1),
		changes:    newChanges(),
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

// changes contains the changes since the last cycle: the latest version of each object, or nil
// for an object that is gone. Objects belong to the cache and are only read.
type changes struct {
	benchmarks   map[queue.Key]*v1alpha1.Benchmark
	beds         map[string]*v1alpha1.TestBed
	profiles     map[queue.Key]*v1alpha1.TrafficProfile
	namespaces   map[string]*corev1.Namespace
	reservations map[queue.Key]*v1alpha1.Reservation
	// policies has the LabPolicy, if it changed.
	policies map[string]*v1alpha1.LabPolicy
	// ended are finished benchmarks.
	ended []*v1alpha1.Benchmark
	// written are the results of the allocator's own writes.
	written []written
	// asked are questions about the view, which are answered in the next cycle.
	asked []func(*Allocator)
}

func newChanges() changes {
	return changes{
		benchmarks:   map[queue.Key]*v1alpha1.Benchmark{},
		beds:         map[string]*v1alpha1.TestBed{},
		profiles:     map[queue.Key]*v1alpha1.TrafficProfile{},
		namespaces:   map[string]*corev1.Namespace{},
		reservations: map[queue.Key]*v1alpha1.Reservation{},
		policies:     map[string]*v1alpha1.LabPolicy{},
	}
}

// note records a change and wakes the allocator.
func (a *Allocator) note(record func(*changes)) {
	a.mu.Lock()
	record(&a.changes)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Start allocates until the context ends.
func (a *Allocator) Start(ctx context.Context) error {
	if err := a.watch(ctx); err != nil {
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
		case <-a.wake:
			if !kit.Sleep(ctx, gathering) {
				return nil
			}
		}
		timer.Reset(a.cycle(ctx))
	}
}

// cycle decides once, and returns when to decide again even if nothing happens.
func (a *Allocator) cycle(ctx context.Context) time.Duration {
	a.mu.Lock()
	ch := a.changes
	a.changes = newChanges()
	a.mu.Unlock()

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
		answer(a)
	}
	return min(a.show(ctx, now), a.retryAfter(now), a.boundaryAfter(), parts)
}

// watch has the informers report changes, and waits until what exists was reported.
func (a *Allocator) watch(ctx context.Context) error {
	handlers := map[client.Object]func(obj any, gone bool){
		&v1alpha1.Benchmark{}: func(obj any, gone bool) {
			b, ok := obj.(*v1alpha1.Benchmark)
			if !ok {
				return
			}
			key := queueKey(b)
			if gone || b.Status.Phase.Finished() {
				ended := b
				a.note(func(c *changes) { c.benchmarks[key], c.ended = nil, append(c.ended, ended) })
				return
			}
			a.note(func(c *changes) { c.benchmarks[key] = b })
		},
		&v1alpha1.TestBed{}: func(obj any, gone bool) {
			bed, ok := obj.(*v1alpha1.TestBed)
			if !ok {
				return
			}
			name := bed.Name
			if gone {
				bed = nil
			}
			a.note(func(c *changes) { c.beds[name] = bed })
		},
		&v1alpha1.TrafficProfile{}: func(obj any, gone bool) {
			p, ok := obj.(*v1alpha1.TrafficProfile)
			if !ok {
				return
			}
			key := queueKey(p)
			if gone {
				p = nil
			}
			a.note(func(c *changes) { c.profiles[key] = p })
		},
		&v1alpha1.Reservation{}: func(obj any, gone bool) {
			r, ok := obj.(*v1alpha1.Reservation)
			if !ok {
				return
			}
			key := queueKey(r)
			if gone {
				r = nil
			}
			a.note(func(c *changes) { c.reservations[key] = r })
		},
		&v1alpha1.LabPolicy{}: func(obj any, gone bool) {
			p, ok := obj.(*v1alpha1.LabPolicy)
			if !ok {
				return
			}
			name := p.Name
			if gone {
				p = nil
			}
			a.note(func(c *changes) { c.policies[name] = p })
		},
		&corev1.Namespace{}: func(obj any, gone bool) {
			ns, ok := obj.(*corev1.Namespace)
			if !ok {
				return
			}
			name := ns.Name
			if gone {
				ns = nil
			}
			a.note(func(c *changes) { c.namespaces[name] = ns })
		},
	}
	var synced []toolscache.InformerSynced
	for obj, handle := range handlers {
		informer, err := a.cache.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watching %T: %w", obj, err)
		}
		reg, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { handle(obj, false) },
			UpdateFunc: func(_, obj any) { handle(obj, false) },
			DeleteFunc: func(obj any) {
				if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
					obj = last.Obj
				}
				handle(obj, true)
			},
		})
		if err != nil {
			return fmt.Errorf("watching %T: %w", obj, err)
		}
		context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(reg) })
		synced = append(synced, reg.HasSynced)
	}
	toolscache.WaitForCacheSync(ctx.Done(), synced...) // It fails only when the context ended.
	return nil
}

func queueKey(o client.Object) queue.Key {
	return queue.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}
