package queue

import (
	"cmp"
)

// Place says where an entry waits.
type Place struct {
	// Ahead is how many other entries come first on the bed where the fewest do.
	Ahead int
	// WaitsFor is that bed; empty when there is none that the entry can use.
	WaitsFor string
	// Beds is how many beds the entry can use.
	Beds int
	// Limit that keeps the entry from open beds, and Obstacle that does: when one or the
	// other keeps it from each, at least one of the two is there; otherwise both are nil.
	Limit    *Limit
	Obstacle *Obstacle
}

// Place returns where the entry with this key waits, and whether it waits at all.
// Of the beds that it can use it waits for an open one first, then for one that is not
// reserved, then for the one where the fewest come first, then for the first by name.
func (q *Queue) Place(k Key, s Snapshot) (Place, bool) {
	m, found := q.of[k]
	if !found {
		return Place{}, false
	}
	g := m.group
	ahead := make(map[string]int, len(g.beds))
	for _, other := range q.groups {
		if before := other.at(m.entry); before > 0 {
			for _, bed := range other.beds {
				ahead[bed] += before
			}
		}
	}
	var p Place
	best := -1
	r := newRound(s)
	open, allowed := 0, 0
	var limit *Limit
	obstacles := make([]*Obstacle, len(g.beds))
	for j, bed := range g.beds {
		b, known := s.Beds[bed]
		if !known {
			continue
		}
		p.Beds++
		obstacles[j] = r.obstacle(g, &b)
		if b.Open {
			open++
			switch l := r.exceeded(g, bed); {
			case l != nil:
				limit = l
			case obstacles[j] == nil:
				allowed++
			}
		}
		if best < 0 || cmp.Or(
			-cmpBool(b.Open, s.Beds[g.beds[best]].Open),
			-cmpBool(obstacles[j] == nil, obstacles[best] == nil),
			compareBegins(obstacles[j], obstacles[best]),
			cmp.Compare(ahead[bed], ahead[g.beds[best]])) < 0 {
			best = j
		}
	}
	if best >= 0 {
		p.WaitsFor, p.Ahead = g.beds[best], ahead[g.beds[best]]
	}
	if open > 0 && allowed == 0 {
		p.Limit, p.Obstacle = limit, obstacles[best]
	}
	return p, true
}

// compareBegins orders obstacles of an entry that names a reservation by when it begins; one
// without such a time comes last.
func compareBegins(a, b *Obstacle) int {
	switch {
	case a == nil || b == nil:
		return 0
	case a.Slice == nil || b.Slice == nil:
		return -cmpBool(a.Slice != nil, b.Slice != nil)
	}
	return a.Slice.From.Compare(b.Slice.From)
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
