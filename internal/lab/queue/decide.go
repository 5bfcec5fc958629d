package queue

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Decide returns who gets a bed now, in the order of the queue. It changes nothing:
// the caller removes those entries whose lease is written.
func (q *Queue) Decide(s Snapshot) []Decision {
	r := q.newRound(s)
	if r.available == 0 {
		return nil
	}
	decisions := q.promised(r)
	given := map[Key]bool{}
	for _, d := range decisions {
		given[d.Entry.Key] = true
	}
	var order heads
	for _, g := range q.groups {
		if !s.Spent[g.team] {
			order = append(order, r.head(g, 0))
		}
	}
	heap.Init(&order)
	for len(order) > 0 && r.available > 0 {
		h := &order[0]
		if h.moved(r) {
			heap.Fix(&order, 0)
			continue
		}
		if gang := h.group.gang; gang != (Key{}) {
			decisions = append(decisions, q.together(r, gang)...)
			heap.Pop(&order) // All entries of the gang were looked at.
			continue
		}
		if !given[h.entry().Key] {
			bed := r.pick(h.group)
			if bed == "" {
				// A bed that is taken, kept or reserved stays so, and counts only grow: no
				// later entry of the group gets one in this decision.
				r.keep(h.group)
				heap.Pop(&order)
				continue
			}
			decisions = append(decisions, Decision{Entry: *h.entry(), Bed: bed})
			r.take(h.group, h.entry(), bed)
		}
		if h.next+1 == len(h.group.entries) {
			heap.Pop(&order)
			continue
		}
		*h = r.head(h.group, h.next+1)
		heap.Fix(&order, 0)
	}
	return decisions
}

// promised gives the beds that were taken from others to those for which they were taken.
// One that waits and cannot have its bed now keeps it free for as long as it waits.
func (q *Queue) promised(r *round) []Decision {
	var decisions []Decision
	given := map[Key]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.beds)) {
		b := r.beds[name]
		m, waits := q.of[b.Promised]
		if !waits || m.group.gang != (Key{}) || given[b.Promised] || r.used[name] || !b.Open {
			continue
		}
		_, can := slices.BinarySearch(m.group.beds, name)
		if can && !r.spent[m.group.team] && r.exceeded(m.group.shape, name) == nil && r.obstacle(m.group.shape, &b) == nil && !r.blocked(b) {
			decisions = append(decisions, Decision{Entry: *m.entry, Bed: name})
			given[b.Promised] = true
			r.take(m.group, m.entry, name)
		} else if can && r.blocked(b) {
			r.kept[name] = true
		}
	}
	return decisions
}

// round contains what one decision has leased so far.
type round struct {
	beds    map[string]Bed
	running map[string]int
	// used are beds that are leased, or were given in this decision.
	used map[string]bool
	// kept are beds that stay free for an earlier entry, which waits for a bed that
	// shares an interface with them, or for those of its gang.
	kept map[string]bool
	// gangs are the gangs that were looked at.
	gangs map[Key]bool
	// available is the number of beds that are open and not used, and free contains their
	// names at the begin.
	available int
	free      []string
	// conflicts reports whether any bed shares an interface with another one.
	conflicts bool
	// standings of teams, with what was given in this decision.
	standings map[share.Account]Standing
	// shared reports whether teams have standings.
	shared bool
	spent  map[string]bool
	aging  Aging
	now    time.Time
	// behind contains the time since which the first entry of a lower priority waits, for
	// groups whose team has such entries of the same shape.
	behind map[*group]time.Time
}

func newRound(s Snapshot) *round {
	r := &round{
		now: s.Now, beds: s.Beds, running: map[string]int{}, used: make(map[string]bool, len(s.Beds)), kept: map[string]bool{}, gangs: map[Key]bool{},
		standings: make(map[share.Account]Standing, len(s.Standings)), shared: len(s.Standings) > 0, spent: s.Spent, aging: s.Aging,
	}
	maps.Copy(r.running, s.Running)
	maps.Copy(r.standings, s.Standings)
	for name, b := range s.Beds {
		if b.Leased {
			r.used[name] = true
		} else if b.Open {
			r.available++
			r.free = append(r.free, name)
		}
		r.conflicts = r.conflicts || len(b.Conflicts) > 0
	}
	slices.Sort(r.free)
	return r
}

// changed replaces a bed in the round only.
func (r *round) changed(b Bed) {
	r.beds = maps.Clone(r.beds)
	r.beds[b.Name] = b
}

// blocked reports whether a bed which shares an interface with this one is in use.
func (r *round) blocked(b Bed) bool {
	for _, other := range b.Conflicts {
		if r.used[other] {
			return true
		}
	}
	return false
}

// exceeded returns a limit that a further entry of the group on this bed would exceed, or nil
// if it would exceed none.
func (r *round) exceeded(g *shape, bed string) *Limit {
	for i, l := range g.limits {
		if (l.Bed == "" || l.Bed == bed) && r.running[l.Key] >= l.Max {
			return &g.limits[i]
		}
	}
	return nil
}

// pick returns the first bed by name that the group can have now; empty if no bed fits.
func (r *round) pick(g *group) string {
	candidates, in := r.free, g.beds
	if len(g.beds) < len(r.free) {
		candidates, in = g.beds, r.free
	}
	for _, name := range candidates {
		if _, both := slices.BinarySearch(in, name); both && r.gives(g, name) {
			return name
		}
	}
	return ""
}

// gives reports whether a group can have a bed now.
func (r *round) gives(g *group, bed string) bool {
	if r.used[bed] || r.kept[bed] {
		return false
	}
	b, known := r.beds[bed]
	return known && b.Open && !r.blocked(b) && !r.barred(g.shape, &b)
}

// barred reports whether a limit or a reservation forbids a bed.
func (r *round) barred(g *shape, b *Bed) bool {
	return r.exceeded(g, b.Name) != nil || r.obstacle(g, b) != nil
}

// take counts a bed as used.
func (r *round) take(g *group, e *Entry, bed string) {
	r.used[bed] = true
	r.available--
	r.charge(e, r.beds[bed].Pool)
	r.count(g, bed, 1)
}

// keep keeps the beds that conflict with those that the group waits for from later
// entries.
func (r *round) keep(g *group) {
	if !r.conflicts {
		return
	}
	for _, name := range g.beds {
		b, known := r.beds[name]
		if !known || !b.Open || len(b.Conflicts) == 0 || r.barred(g.shape, &b) {
			continue
		}
		r.keepConflicts(&b)
	}
}

// keepConflicts keeps the beds that share an interface with one from later entries.
func (r *round) keepConflicts(b *Bed) {
	for _, other := range b.Conflicts {
		r.kept[other] = true
	}
}
