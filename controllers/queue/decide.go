package queue

import (
	"container/heap"
	"maps"
	"time"
)

// Decide returns who gets a bed now, in the order of the queue. It changes nothing:
// the caller removes those entries whose lease is written.
func (q *Queue) Decide(s Snapshot) []Decision {
	r := newRound(s)
	if r.available == 0 {
		return nil
	}
	var order heads
	for _, g := range q.groups {
		order = append(order, head{group: g})
	}
	heap.Init(&order)
	var decisions []Decision
	for len(order) > 0 {
		h := &order[0]
		bed, barred := r.pick(h.group)
		if bed == "" {
			// A bed that is taken, kept or reserved stays so, and counts only grow: no
			// later entry of the group gets one in this decision.
			r.keep(h.group, barred)
			heap.Pop(&order)
			continue
		}
		decisions = append(decisions, Decision{Entry: *h.entry(), Bed: bed})
		r.take(h.group, bed)
		if r.available == 0 {
			break
		}
		if h.next++; h.next < len(h.group.entries) {
			heap.Fix(&order, 0)
		} else {
			heap.Pop(&order)
		}
	}
	return decisions
}

// round is what one decision has leased so far.
type round struct {
	beds    map[string]Bed
	running map[string]int
	// used are beds that are leased, or were given in this decision.
	used map[string]bool
	// kept are beds that stay free for an earlier entry, which waits for a bed that
	// shares an interface with them.
	kept map[string]bool
	// available is how many beds are open and not used.
	available int
	now       time.Time
}

func newRound(s Snapshot) *round {
	r := &round{now: s.Now, beds: s.Beds, running: maps.Clone(s.Running), used: make(map[string]bool, len(s.Beds)), kept: map[string]bool{}}
	if r.running == nil {
		r.running = map[string]int{}
	}
	for name, b := range s.Beds {
		if b.Leased {
			r.used[name] = true
		} else if b.Open {
			r.available++
		}
	}
	return r
}

// blocked says that a bed which shares an interface with this one is in use.
func (r *round) blocked(b Bed) bool {
	for _, other := range b.Conflicts {
		if r.used[other] {
			return true
		}
	}
	return false
}

// exceeded returns a limit that a further entry of the group on this bed would
// exceed, nil when there is none.
func (r *round) exceeded(g *group, bed string) *Limit {
	for i, l := range g.limits {
		if (l.Bed == "" || l.Bed == bed) && r.running[l.Key] >= l.Max {
			return &g.limits[i]
		}
	}
	return nil
}

// pick returns the first bed by name that the group can have now; empty when there
// is none. It also returns the beds that a limit or a reservation forbids.
func (r *round) pick(g *group) (bed string, barred map[string]bool) {
	for _, name := range g.beds {
		b, known := r.beds[name]
		if !known || !b.Open {
			continue
		}
		if r.exceeded(g, name) != nil || r.obstacle(g, &b) != nil {
			if barred == nil {
				barred = map[string]bool{}
			}
			barred[name] = true
			continue
		}
		if !r.used[name] && !r.kept[name] && !r.blocked(b) {
			return name, barred
		}
	}
	return "", barred
}

// take counts a bed as used.
func (r *round) take(g *group, bed string) {
	r.used[bed] = true
	r.available--
	for _, l := range g.limits {
		if l.Bed == "" || l.Bed == bed {
			r.running[l.Key]++
		}
	}
}

// keep keeps the beds that conflict with those that the group waits for from later
// entries.
func (r *round) keep(g *group, barred map[string]bool) {
	for _, name := range g.beds {
		b, known := r.beds[name]
		if !known || !b.Open || barred[name] {
			continue
		}
		for _, other := range b.Conflicts {
			r.kept[other] = true
		}
	}
}

// head is the first entry of a group that has nothing yet.
type head struct {
	group *group
	next  int
}

func (h head) entry() *Entry { return h.group.entries[h.next] }

// heads is a heap of the groups, the one with the first entry on top.
type heads []head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return compare(h[i].entry(), h[j].entry()) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a head.
func (h *heads) Push(x any) { *h = append(*h, x.(head)) }

// Pop removes the last head.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
