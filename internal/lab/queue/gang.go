package queue

import (
	"maps"
	"slices"
)

// attempts bounds how many choices of beds are tried for a gang whose beds share interfaces
// or limits with each other.
const attempts = 1000

// joinGang counts an entry among those of its gang, if it has one.
func (q *Queue) joinGang(k Key) {
	m := q.of[k]
	if m.group.gang == (Key{}) {
		return
	}
	if q.gangs[m.group.gang] == nil {
		q.gangs[m.group.gang] = map[Key]member{}
	}
	q.gangs[m.group.gang][k] = m
}

// leaveGang ends that.
func (q *Queue) leaveGang(gang, k Key) {
	delete(q.gangs[gang], k)
	if len(q.gangs[gang]) == 0 {
		delete(q.gangs, gang)
	}
}

// complete reports whether the entries of a group wait for beds: the entries of a gang wait
// when the gang is complete.
func (q *Queue) complete(g *group) bool {
	return g.gang == (Key{}) || len(q.gangs[g.gang]) >= g.missing
}

// members are the entries of a gang, in order.
func (q *Queue) members(gang Key) []member {
	return slices.SortedFunc(maps.Values(q.gangs[gang]), func(a, b member) int { return compare(a.entry, b.entry) })
}

// together gives a bed to every entry of a gang that has none yet, or to none of them. Where
// it gives none, it keeps from later entries what the gang waits for, or a gang would never
// start while others come. A gang that cannot start whatever others give back keeps nothing.
func (q *Queue) together(r *round, gang Key) []Decision {
	if r.gangs[gang] {
		return nil
	}
	r.gangs[gang] = true
	all := q.members(gang)
	missing := all[0].group.missing
	if len(all) < missing {
		return nil
	}
	all = all[:missing]
	if beds := newSeating(r, all, nil).choose(); beds != nil {
		decisions := make([]Decision, missing)
		for i, m := range all {
			decisions[i] = Decision{Entry: *m.entry, Bed: beds[i]}
			r.take(m.group, m.entry, beds[i])
		}
		return decisions
	}
	noLimits := *r
	noLimits.running, noLimits.counted = map[string]int{}, true
	now := newSeating(&noLimits, all, nil)
	limited := now.choose()
	empty := noLimits
	empty.used, empty.kept, empty.returned = map[string]bool{}, map[string]bool{}, true
	later := newSeating(&empty, all, now.of).choose()
	for i, m := range all {
		switch {
		case later == nil:
			return nil
		case limited == nil:
			r.keepFor(later[i])
			r.count(m.group, later[i], 1)
		default: // Its limits keep it from free beds, which others may have.
			r.count(m.group, limited[i], 1)
		}
	}
	return nil
}

// keepFor keeps a bed, and those that share an interface with it, from later entries.
func (r *round) keepFor(bed string) {
	r.kept[bed] = true
	b := r.beds[bed]
	r.keepConflicts(&b)
}

// count counts a bed under the limits of a group.
func (r *round) count(g *group, bed string, n int) {
	g.eachLimit(bed, func(l *Limit) {
		if !r.counted {
			running := make(map[string]int, len(r.running)+1)
			maps.Copy(running, r.running)
			r.running, r.counted = running, true
		}
		r.running[l.Key] += n
	})
}

// seating assigns beds to the entries of a gang.
type seating struct {
	r       *round
	members []member
	// of is the entry that has a bed, by its index.
	of map[string]int
}

// newSeating finds beds for as many entries as it can, by augmenting paths: those that have
// one already keep one.
func newSeating(r *round, members []member, of map[string]int) *seating {
	s := &seating{r: r, members: members, of: map[string]int{}}
	maps.Copy(s.of, of)
	seated := make([]bool, len(members))
	for _, i := range of {
		seated[i] = true
	}
	for i := range members {
		if !seated[i] {
			s.seat(i, map[string]bool{})
		}
	}
	return s
}

// seat finds a bed for one entry, where others move to other beds if need be.
func (s *seating) seat(i int, seen map[string]bool) bool {
	for _, bed := range s.members[i].group.beds {
		if seen[bed] || !s.r.gives(s.members[i].group.shape, bed) {
			continue
		}
		seen[bed] = true
		if j, taken := s.of[bed]; !taken || s.seat(j, seen) {
			s.of[bed] = i
			return true
		}
	}
	return false
}

// choose returns a bed for every entry, of which no two share an interface or exceed a limit
// together; nil when it finds none.
func (s *seating) choose() []string {
	if len(s.of) < len(s.members) {
		return nil
	}
	beds, left := make([]string, len(s.members)), attempts
	for bed, i := range s.of {
		beds[i] = bed
	}
	if s.try(beds, 0, &left) {
		return beds
	}
	return nil
}

// try finds beds for the entries from one on. The bed that an entry has comes first.
func (s *seating) try(beds []string, i int, left *int) bool {
	if i == len(beds) {
		return true
	}
	g := s.members[i].group
	for _, bed := range append([]string{beds[i]}, g.beds...) {
		if *left--; *left < 0 {
			return false
		}
		if !s.r.gives(g.shape, bed) {
			continue
		}
		s.r.used[bed] = true
		s.r.count(g, bed, 1)
		found := s.try(beds, i+1, left)
		delete(s.r.used, bed)
		s.r.count(g, bed, -1)
		if found {
			beds[i] = bed
			return true
		}
	}
	return false
}
