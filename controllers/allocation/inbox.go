package allocation

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// inbox collects what changed since the last cycle, and wakes the allocator.
type inbox struct {
	// wake has an element when changes are there.
	wake chan struct{}

	mu sync.Mutex
	// changes contains the changes that watches and writes reported since the last cycle.
	// Guarded by mu.
	changes changes
}

func newInbox() *inbox {
	return &inbox{wake: make(chan struct{}, 1), changes: newChanges()}
}

// note records a change and wakes the allocator.
func (i *inbox) note(record func(*changes)) {
	i.mu.Lock()
	record(&i.changes)
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// take returns the changes since the last call.
func (i *inbox) take() changes {
	i.mu.Lock()
	defer i.mu.Unlock()
	ch := i.changes
	i.changes = newChanges()
	return ch
}

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
	asked []func()
}

// written is the result of a write, which is applied in the next cycle.
type written func(now time.Time)

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

// benchmark records a version of a benchmark. A finished one is no longer in the view, and is
// also kept among the ended ones.
func (c *changes) benchmark(b *v1alpha1.Benchmark, gone bool) {
	key := queueKey(b)
	if gone || b.Status.Phase.Finished() {
		c.benchmarks[key], c.ended = nil, append(c.ended, b)
		return
	}
	c.benchmarks[key] = b
}

// arrivals returns the keys of the benchmarks that changed in the order of their creation; those
// that are gone come first.
func (c *changes) arrivals() []queue.Key {
	type arrival struct {
		key     queue.Key
		created time.Time
	}
	all := make([]arrival, 0, len(c.benchmarks))
	for key, b := range c.benchmarks {
		a := arrival{key: key}
		if b != nil {
			a.created = b.CreationTimestamp.Time
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y arrival) int {
		if c := x.created.Compare(y.created); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(x.key.Namespace, y.key.Namespace), cmp.Compare(x.key.Name, y.key.Name))
	})
	keys := make([]queue.Key, len(all))
	for i := range all {
		keys[i] = all[i].key
	}
	return keys
}

func (c *changes) bed(bed *v1alpha1.TestBed, gone bool) { c.beds[bed.Name] = latest(gone, bed) }

func (c *changes) profile(p *v1alpha1.TrafficProfile, gone bool) {
	c.profiles[queueKey(p)] = latest(gone, p)
}

func (c *changes) reservation(r *v1alpha1.Reservation, gone bool) {
	c.reservations[queueKey(r)] = latest(gone, r)
}

func (c *changes) policy(p *v1alpha1.LabPolicy, gone bool) { c.policies[p.Name] = latest(gone, p) }

func (c *changes) namespace(ns *corev1.Namespace, gone bool) {
	c.namespaces[ns.Name] = latest(gone, ns)
}

// latest returns an object, or nil if it is gone.
func latest[T any](gone bool, obj *T) *T {
	if gone {
		return nil
	}
	return obj
}

func queueKey(o client.Object) queue.Key {
	return queue.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}
