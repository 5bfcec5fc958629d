package queue

import (
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Decide returns who gets a bed now, in the order of the queue. It changes nothing:
// the caller removes those entries whose lease is written.
func (q *Queue) Decide(s Snapshot) []Decision { return q.decide(newRound(s)) }

func (q *Queue) decide(r *round) []Decision {
	if r.available == 0 {
		return nil
	}
	decisions := q.promised(r)
	given := map[Key]bool{}
	for _, d := range decisions {
		given[d.Entry.Key] = true
	}
	groups := q.concerned(r)
	q.rank(r, groups)
	order := r.turns(groups)
	for h := order.first(); h != nil && r.available > 0; h = order.first() {
		if gang := h.group.gang; gang != (Key{}) {
			decisions = append(decisions, q.together(r, gang)...)
			order.drop() // All entries of the gang were looked at.
			continue
		}
		if !given[h.entry().Key] {
			bed := r.pick(h.group)
			if bed == "" {
				// A bed that is taken, kept or reserved stays so, and counts only grow: no
				// later entry of the group gets one in this decision.
				r.keep(h.group)
				order.drop()
				continue
			}
			decisions = append(decisions, Decision{Entry: *h.entry(), Bed: bed})
			r.take(h.group, h.entry(), bed)
		}
		order.pass()
	}
	return decisions
}

// concerned returns the groups that a decision can give a bed to, or keep beds for, and notes which beds it can give to them. What
// keeps a bed from a shape now does so until the end of the decision, so that all other groups and beds change nothing in it.
func (q *Queue) concerned(r *round) (groups []*group) {
	groups = r.scratch.groups[:0]
	defer func() { r.scratch.groups = groups }()
	add := func(s *shape) {
		for _, g := range s.groups {
			if g.gang == (Key{}) && !r.spent[g.team] {
				groups = append(groups, g)
			}
		}
	}
	for _, name := range r.free {
		b := r.beds[name]
		if r.used[name] || r.kept[name] || r.blocked(&b) {
			continue
		}
		for _, s := range q.shapesOf(name) {
			r.compared++
			if r.barred(s, &b) {
				continue
			}
			if s.round != r {
				s.round, s.can = r, s.can[:0]
				add(s)
			}
			s.can = append(s.can, name)
		}
	}
	for name := range r.shared {
		b := r.beds[name]
		for _, s := range q.shapesOf(name) {
			if s.round != r && b.Open && !r.barred(s, &b) {
				s.round, s.can = r, s.can[:0] // It keeps the beds that share an interface with this one.
				add(s)
			}
		}
	}
	some := map[*group]bool{}
	for _, members := range q.gangs {
		for _, m := range members {
			if !some[m.group] && !r.spent[m.group.team] {
				some[m.group] = true
				groups = append(groups, m.group)
			}
		}
	}
	return groups
}

// promised gives the beds that were taken from others to those for which they were taken.
// One that waits and cannot have its bed now keeps it free for as long as it waits.
func (q *Queue) promised(r *round) []Decision {
	var decisions []Decision
	given := map[Key]bool{}
	for _, name := range r.promised {
		b := r.beds[name]
		m, waits := q.of[b.Promised]
		if !waits || m.group.gang != (Key{}) || given[b.Promised] || r.inUse(&b) || !b.Open {
			continue
		}
		_, can := slices.BinarySearch(m.group.beds, name)
		if can && !r.spent[m.group.team] && r.exceeded(m.group.shape, name) == nil && r.obstacle(m.group.shape, &b) == nil && !r.blocked(&b) {
			decisions = append(decisions, Decision{Entry: *m.entry, Bed: name})
			given[b.Promised] = true
			r.take(m.group, m.entry, name)
		} else if can && r.blocked(&b) {
			r.kept[name] = true
		}
	}
	return decisions
}

// round contains what one decision has leased so far.
type round struct {
	beds map[string]Bed
	// running belongs to the snapshot until a bed is counted.
	running map[string]int
	counted bool
	// used are beds that were given in this decision. The leases of the beds count, too, unless returned is set.
	used     map[string]bool
	returned bool
	// kept are beds that stay free for an earlier entry, which waits for a bed that
	// shares an interface with them, or for those of its gang.
	kept map[string]bool
	// gangs are the gangs that were looked at.
	gangs map[Key]bool
	// available is the number of beds that are open and not used. The lists are from the begin.
	available int
	bedLists
	scratch *scratch
	// standings of teams, and charged is the time that they were given in this decision. Stand returns further standings; it may be
	// nil.
	standings map[share.Account]Standing
	stand     func(share.Account) Standing
	charged   map[share.Account]time.Duration
	spent     map[string]bool
	aging     Aging
	now       time.Time
	// behind contains the time since which the first entry of a lower priority waits, for
	// groups whose team has such entries of the same shape.
	behind map[*group]time.Time
	// boundAhead is the largest bonus.
	boundAhead time.Duration
	// compared is the number of comparisons of entries, and of beds with shapes.
	compared int
}

// bedLists are the names of beds that a decision looks at.
type bedLists struct {
	// free are the open beds without a lease, and promised are the beds that were taken for an entry; both are sorted.
	free, promised []string
	// shared are the beds that share an interface with another one.
	shared map[string]bool
}

func newBedLists(s Snapshot) bedLists {
	l := bedLists{shared: map[string]bool{}}
	for name, b := range s.Beds {
		if !b.Leased && b.Open {
			l.free = append(l.free, name)
		}
		if len(b.Conflicts) > 0 {
			l.shared[name] = true
		}
		if b.Promised != (Key{}) {
			l.promised = append(l.promised, name)
		}
	}
	slices.Sort(l.free)
	slices.Sort(l.promised)
	return l
}

// scratch has memory that rounds use one after the other.
type scratch struct {
	groups    []*group
	heads     []head
	standings map[share.Account]Standing
}

func newRound(s Snapshot) *round { return newBedLists(s).round(s, &scratch{}) }

// round returns a new round of a snapshot, which has these beds. It uses the memory of the round before.
func (l bedLists) round(s Snapshot, memory *scratch) *round {
	r := &round{
		bedLists: l, available: len(l.free), scratch: memory,
		now: s.Now, beds: s.Beds, running: s.Running, used: map[string]bool{}, kept: map[string]bool{}, gangs: map[Key]bool{},
		standings: s.Standings, stand: s.stand, charged: map[share.Account]time.Duration{}, spent: s.Spent, aging: s.Aging,
	}
	if r.stand != nil {
		if memory.standings == nil {
			memory.standings = map[share.Account]Standing{}
		}
		clear(memory.standings)
		r.standings = memory.standings
	}
	return r
}

// inUse reports whether a bed is leased, or was given in this decision.
func (r *round) inUse(b *Bed) bool { return b.Leased && !r.returned || r.used[b.Name] }

// changed replaces a bed in the round only.
func (r *round) changed(b Bed) {
	r.beds = maps.Clone(r.beds)
	r.beds[b.Name] = b
}

// blocked reports whether a bed which shares an interface with this one is in use.
func (r *round) blocked(b *Bed) bool {
	for _, name := range b.Conflicts {
		if r.used[name] {
			return true
		}
		if other := r.beds[name]; other.Leased && !r.returned {
			return true
		}
	}
	return false
}

// exceeded returns a limit that a further entry of the group on this bed would exceed, or nil
// if it would exceed none.
func (r *round) exceeded(s *shape, bed string) *Limit { return s.exceeded(bed, r.running) }

// pick returns the first bed by name that the group can have now; empty if no bed fits.
func (r *round) pick(g *group) string {
	if g.round != r {
		return ""
	}
	for _, name := range g.can {
		if r.gives(g.shape, name) {
			return name
		}
	}
	return ""
}

// gives reports whether a shape can have a bed now.
func (r *round) gives(s *shape, bed string) bool {
	if r.used[bed] || r.kept[bed] {
		return false
	}
	b, known := r.beds[bed]
	return known && b.Open && !r.inUse(&b) && !r.blocked(&b) && !r.barred(s, &b)
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
	if len(r.shared) == 0 {
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
