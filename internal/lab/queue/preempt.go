package queue

import (
	"cmp"
	"time"
)

// Lease describes the holder of a bed.
type Lease struct {
	// Holder of the bed.
	Holder Key
	// Priority that the holder has, without what it gained by waiting.
	Priority int32
	// Preemptible reports whether the holder allows to be preempted.
	Preemptible bool
	// Since is the time at which it got the bed.
	Since time.Time
	// By is the entry in whose favor it is already being preempted; zero without one.
	By Key
}

// Preemption takes a bed from its holder in favor of an entry.
type Preemption struct {
	// For is the entry that is to have the bed.
	For Entry
	// Bed that is taken, and Lease of its holder.
	Bed   string
	Lease Lease
}

// Preempt returns which beds to take from their holders, for those entries in the order of
// the queue that preempt and that no bed can be given to. A holder is preempted only if it
// allows that and has a lower priority; of several, the one with the lowest priority, then
// the one that has its bed for the shortest time. Nothing is preempted for a gang. An entry for which a bed is being taken
// waits for that one.
func (q *Queue) Preempt(s Snapshot) []Preemption {
	r := newRound(s)
	served := map[Key]bool{}
	victims := false
	for _, b := range s.Beds {
		if b.Promised != (Key{}) {
			served[b.Promised] = true
		}
		if b.Lease != nil {
			served[b.Lease.By] = true
			victims = victims || b.Lease.Preemptible && b.Lease.By == Key{}
		}
	}
	if !victims {
		return nil
	}
	var groups []*group
	for _, g := range q.groups {
		if g.preempts && g.gang == (Key{}) && !s.Spent[g.team] {
			groups = append(groups, g)
		}
	}
	q.rank(r, groups)
	var all []Preemption
	order := r.turns(groups)
	for h := order.first(); h != nil; h = order.first() {
		e := h.entry()
		if !served[e.Key] {
			name := r.victim(h.group)
			if name == "" {
				order.drop()
				continue
			}
			b := r.beds[name]
			all = append(all, Preemption{For: *e, Bed: name, Lease: *b.Lease})
			taken := *b.Lease
			taken.By = e.Key
			b.Lease = &taken
			r.changed(b)
		}
		order.pass()
	}
	return all
}

// victim returns the bed that is taken for an entry of a group; empty if none can be taken.
func (r *round) victim(g *group) string {
	best := ""
	for _, name := range g.beds {
		b, known := r.beds[name]
		if !known || !b.Open || b.Lease == nil || !b.Lease.Preemptible || b.Lease.By != (Key{}) || b.Lease.Priority >= g.priority {
			continue
		}
		if r.barred(g.shape, &b) || r.blocked(&b) {
			continue
		}
		if best == "" {
			best = name
			continue
		}
		l, than := b.Lease, r.beds[best].Lease
		if cmp.Or(cmp.Compare(l.Priority, than.Priority), than.Since.Compare(l.Since)) < 0 {
			best = name
		}
	}
	return best
}
