package allocation

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// partGrace is the time for which some members of a gang may have beds while others get none.
// After it the beds are returned. Only a lease that could not be written, or an operator that
// ended, leads to this state.
const partGrace = 2 * time.Second

// gang is the allocator's view of the members of a gang.
type gang struct {
	// members that are not finished.
	members map[queue.Key]*waiter
	// began contains, by role, the times at which members that are finished had got their
	// beds.
	began map[string]time.Time
	// part is the time since which some of the members have beds while others get none; zero
	// otherwise.
	part time.Time
	// returning reports whether the beds of a part are being returned.
	returning bool
}

// gangOf returns the key of the gang of a benchmark; zero without one.
func gangOf(b *v1alpha1.Benchmark) queue.Key {
	if b.Spec.Gang == nil {
		return queue.Key{}
	}
	return queue.Key{Namespace: b.Namespace, Name: b.Spec.Gang.Name}
}

// gangs contains the gangs of the benchmarks that are not finished.
type gangs struct {
	byKey     map[queue.Key]*gang
	inventory *inventory
}

// named returns the gang with this key, and creates it if it does not exist.
func (g *gangs) named(key queue.Key) *gang {
	of := g.byKey[key]
	if of == nil {
		of = &gang{members: map[queue.Key]*waiter{}, began: map[string]time.Time{}}
		g.byKey[key] = of
	}
	return of
}

// join counts a benchmark among the members of its gang.
func (g *gangs) join(w *waiter) {
	if w.b.Spec.Gang != nil {
		g.named(gangOf(w.b)).members[queueKey(w.b)] = w
	}
}

// leave removes a benchmark from its gang, and returns the members that are left.
func (g *gangs) leave(w *waiter) map[queue.Key]*waiter {
	if w.b.Spec.Gang == nil {
		return nil
	}
	members := g.named(gangOf(w.b)).members
	delete(members, queueKey(w.b))
	return members
}

// end remembers that a member had a bed: those that are left need not wait for it.
func (g *gangs) end(b *v1alpha1.Benchmark) {
	if b.Spec.Gang == nil || b.Status.StartTime == nil {
		return
	}
	began := g.named(gangOf(b)).began
	if t := b.Status.StartTime.Time; t.After(began[b.Spec.Gang.Role]) {
		began[b.Spec.Gang.Role] = t
	}
}

// hasBegun reports whether the gang of a benchmark has started since the benchmark was created.
func (g *gang) hasBegun(b *v1alpha1.Benchmark) bool {
	for _, w := range g.members {
		if kit.Begun(w.b) {
			return true
		}
	}
	for role, at := range g.began {
		if role != b.Spec.Gang.Role && !at.Before(b.CreationTimestamp.Time) {
			return true
		}
	}
	return false
}

// holding returns the members of a gang that have a bed, or are about to have it.
func (g *gangs) holding(of *gang) (all []*waiter, granting bool) {
	for _, w := range of.members {
		if g.inventory.holds(w.b) || w.granting {
			all = append(all, w)
		}
		granting = granting || w.granting
	}
	return all, granting
}

// complete completes an entry with its gang. It is false while the entry must not get a bed.
func (g *gangs) complete(w *waiter, e *queue.Entry) bool {
	if w.b.Spec.Gang == nil {
		return true
	}
	of := g.named(gangOf(w.b))
	if of.hasBegun(w.b) {
		return true // It comes late, and gets a bed for itself.
	}
	held, _ := g.holding(of)
	e.Gang, e.Missing = gangOf(w.b), int(w.b.Spec.Gang.Members)-len(held)
	return !of.returning && e.Missing > 0
}

// parts returns the beds of gangs of which only some members got beds.
type parts struct {
	gangs    *gangs
	line     *line
	requests *requests
	leases   *leaseWriter
}

// returnAll returns the beds of gangs of which some members have beds and others get none.
// The result is the time until the next check.
func (p *parts) returnAll(ctx context.Context, now time.Time) time.Duration {
	next := time.Hour
	for key, g := range p.gangs.byKey {
		if len(g.members) == 0 {
			delete(p.gangs.byKey, key)
			continue
		}
		held, granting := p.gangs.holding(g)
		if len(held) == 0 || granting || g.returning || len(held) >= int(held[0].b.Spec.Gang.Members) || g.hasBegun(held[0].b) {
			g.part = time.Time{}
			continue
		}
		if g.part.IsZero() {
			g.part = now
		}
		if left := g.part.Add(partGrace).Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		p.returnPart(ctx, key, g, held)
	}
	return next
}

// returnPart returns beds of a gang. Meanwhile no member gets one.
func (p *parts) returnPart(ctx context.Context, key queue.Key, g *gang, held []*waiter) {
	g.returning, g.part = true, time.Time{}
	var members []*v1alpha1.Benchmark
	for _, w := range g.members {
		members = append(members, w.b)
		p.line.placeOne(w)
	}
	size := int(held[0].b.Spec.Gang.Members)
	p.requests.begin(func() written {
		err := p.leases.releasePart(ctx, members, size)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The beds of a gang of which others got none could not be returned", "gang", key.String())
		}
		return func(time.Time) {
			g.returning = false
			for _, w := range g.members {
				p.line.placeOne(w)
			}
		}
	})
}
