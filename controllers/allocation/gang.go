package allocation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/controllers/queue"
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

// gangNamed returns the gang with this key, and creates it if it does not exist.
func (a *Allocator) gangNamed(key queue.Key) *gang {
	g := a.gangs[key]
	if g == nil {
		g = &gang{members: map[queue.Key]*waiter{}, began: map[string]time.Time{}}
		a.gangs[key] = g
	}
	return g
}

// joinGang counts a benchmark among the members of its gang.
func (a *Allocator) joinGang(w *waiter) {
	if w.b.Spec.Gang != nil {
		a.gangNamed(gangOf(w.b)).members[queueKey(w.b)] = w
	}
}

// leaveGang ends that, and places the others again.
func (a *Allocator) leaveGang(w *waiter) {
	if w.b.Spec.Gang == nil {
		return
	}
	g := a.gangNamed(gangOf(w.b))
	delete(g.members, queueKey(w.b))
	for _, other := range g.members {
		a.placeOne(other)
	}
}

// endInGang remembers that a member had a bed: those that are left need not wait for it.
func (a *Allocator) endInGang(b *v1alpha1.Benchmark) {
	if b.Spec.Gang == nil || b.Status.StartTime == nil {
		return
	}
	g := a.gangNamed(gangOf(b))
	if t := b.Status.StartTime.Time; t.After(g.began[b.Spec.Gang.Role]) {
		g.began[b.Spec.Gang.Role] = t
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

// holding are the members that have a bed, or are about to have it.
func (a *Allocator) holding(g *gang) (all []*waiter, granting bool) {
	for _, w := range g.members {
		if _, holds := a.holders[string(w.b.UID)]; holds || w.granting {
			all = append(all, w)
		}
		granting = granting || w.granting
	}
	return all, granting
}

// inGang completes an entry with its gang. It is false while the entry must not get a bed.
func (a *Allocator) inGang(w *waiter, e *queue.Entry) bool {
	if w.b.Spec.Gang == nil {
		return true
	}
	g := a.gangNamed(gangOf(w.b))
	if g.hasBegun(w.b) {
		return true // It comes late, and gets a bed for itself.
	}
	held, _ := a.holding(g)
	e.Gang, e.Missing = gangOf(w.b), int(w.b.Spec.Gang.Members)-len(held)
	return !g.returning && e.Missing > 0
}

// returnParts returns the beds of gangs of which some members have beds and others get none.
// The result is the time until the next check.
func (a *Allocator) returnParts(ctx context.Context, now time.Time) time.Duration {
	next := time.Hour
	for key, g := range a.gangs {
		if len(g.members) == 0 {
			delete(a.gangs, key)
			continue
		}
		held, granting := a.holding(g)
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
		a.returnPart(ctx, key, g, held)
	}
	return next
}

// returnPart returns beds of a gang. Meanwhile no member gets one.
func (a *Allocator) returnPart(ctx context.Context, key queue.Key, g *gang, held []*waiter) {
	g.returning, g.part = true, time.Time{}
	var members []*v1alpha1.Benchmark
	for _, w := range g.members {
		members = append(members, w.b)
		a.placeOne(w)
	}
	size := int(held[0].b.Spec.Gang.Members)
	a.begin(func() written {
		err := a.releasePart(ctx, members, size)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The beds of a gang of which others got none could not be returned", "gang", key.String())
		}
		return func(time.Time) {
			g.returning = false
			for _, w := range g.members {
				a.placeOne(w)
			}
		}
	})
}

// releasePart releases the beds of members unless all have one by now, or one has begun. No
// lease of the gang is being written meanwhile, so that what is missing stays so. The attempts
// of all are ended before the first bed is released, so that none begins.
func (a *Allocator) releasePart(ctx context.Context, members []*v1alpha1.Benchmark, size int) error {
	var beds v1alpha1.TestBedList
	if err := a.Live.List(ctx, &beds); err != nil {
		return fmt.Errorf("listing test beds: %w", err)
	}
	held := map[string]*v1alpha1.Benchmark{}
	for _, b := range members {
		live := &v1alpha1.Benchmark{}
		err := a.Live.Get(ctx, client.ObjectKeyFromObject(b), live)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading benchmark %s/%s: %w", b.Namespace, b.Name, err)
		}
		if err != nil || live.UID != b.UID {
			continue
		}
		if kit.Begun(live) {
			return nil
		}
		for i := range beds.Items {
			if kit.HasLease(&beds.Items[i], lab.RunOf(live)) {
				held[beds.Items[i].Name] = live
			}
		}
	}
	if len(held) >= size {
		return nil
	}
	for _, b := range held {
		if _, err := a.nextAttempt(ctx, b); err != nil {
			return err
		}
	}
	for bed, b := range held {
		if err := kit.ReleaseBed(ctx, a.Client, a.Live, bed, lab.RunOf(b)); err != nil {
			return err
		}
	}
	return nil
}

// explainGang describes what a member waits for together with others.
func (a *Allocator) explainGang(w *waiter, e kit.Explanation) kit.Explanation {
	if w.b.Spec.Gang == nil || e.Reason == v1alpha1.ReasonPreempted {
		return e
	}
	g := a.gangNamed(gangOf(w.b))
	if g.hasBegun(w.b) {
		return e
	}
	gang := w.b.Spec.Gang
	held, _ := a.holding(g)
	ready := map[string]bool{}
	for _, other := range held {
		ready[other.b.Spec.Gang.Role] = true
	}
	for key, other := range g.members {
		if a.queue.Has(key) {
			ready[other.b.Spec.Gang.Role] = true
		}
	}
	if n := len(ready); n < int(gang.Members) {
		e.Reason = v1alpha1.ReasonGangIncomplete
		e.Message = kit.Bounded(fmt.Sprintf("gang %s has %d of its %d members ready to start (%s): create the others, and see the status of those that are not ready",
			gang.Name, n, gang.Members, strings.Join(slices.Sorted(maps.Keys(ready)), ", ")))
		return e
	}
	e.Message = kit.Bounded(fmt.Sprintf("gang %s gets its %d beds at once; this member %s", gang.Name, gang.Members, e.Message))
	return e
}
