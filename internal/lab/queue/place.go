package queue

import (
	"cmp"
	"container/heap"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Waiting is a benchmark that waits, as people see it.
type Waiting struct {
	Benchmark *v1alpha1.Benchmark
	// Start is the time at which it is expected to get a bed; zero if that is not known.
	Start time.Time
	// Why it waits, in a sentence.
	Why string
}

// Place describes where an entry waits.
type Place struct {
	// Order is the place in the whole queue: 1 comes first.
	Order int
	// Ahead is the number of other entries that come first on the bed with the fewest.
	Ahead int
	// WaitsFor is the name of that bed; empty if the entry can use no bed.
	WaitsFor string
	// Beds is the number of beds that the entry can use.
	Beds int
	// Limit that keeps the entry from open beds, and Obstacle that does: when one or the
	// other keeps it from each, at least one of the two is there; otherwise both are nil.
	Limit    *Limit
	Obstacle *Obstacle
	// Spent reports whether its team has used up its bed-hours.
	Spent bool
}

// Places returns where all entries wait, as if every one of them were given a bed in the
// order of the queue. Of the beds that it can use an entry waits for an open one first, then
// for one that is not reserved, then for the one where the fewest come first, then for the
// first by name.
func (q *Queue) Places(s Snapshot) map[Key]Place {
	r := q.newRound(s)
	places := make(map[Key]Place, len(q.of))
	ahead := make(map[string]*int, len(s.Beds))
	for name := range s.Beds {
		ahead[name] = new(int)
	}
	var order heads
	for _, g := range q.groups {
		order = append(order, r.head(g, 0))
	}
	heap.Init(&order)
	views := make(map[*group]view, len(q.groups))
	for len(order) > 0 {
		h := &order[0]
		if h.moved(r) {
			heap.Fix(&order, 0)
			continue
		}
		v, seen := views[h.group]
		if !seen {
			v = r.view(h.group, ahead)
			views[h.group] = v
		}
		p := v.place()
		p.Order = len(places) + 1
		places[h.entry().Key] = p
		for _, bed := range v.beds {
			*bed.ahead++
		}
		r.charge(h.entry(), s.Beds[p.WaitsFor].Pool)
		if h.next+1 == len(h.group.entries) {
			heap.Pop(&order)
			continue
		}
		*h = r.head(h.group, h.next+1)
		heap.Fix(&order, 0)
	}
	return places
}

// Place returns where the entry with this key waits, and whether it waits at all.
func (q *Queue) Place(k Key, s Snapshot) (Place, bool) {
	p, found := q.Places(s)[k]
	return p, found
}

// view describes how the entries of a group see the beds that they can use.
type view struct {
	group *group
	beds  []bedOfView
	// limit is one that keeps them from a bed, and allowed reports whether an open bed exists
	// that nothing keeps them from.
	limit         *Limit
	open, allowed bool
	spent         bool
}

type bedOfView struct {
	name     string
	open     bool
	obstacle *Obstacle
	// ahead counts the entries that come first.
	ahead *int
}

func (r *round) view(g *group, ahead map[string]*int) view {
	v := view{group: g, spent: r.spent[g.team]}
	for _, name := range g.beds {
		b, known := r.beds[name]
		if !known {
			continue
		}
		seen := bedOfView{name: name, open: b.Open, obstacle: r.obstacle(g.shape, &b), ahead: ahead[name]}
		v.beds = append(v.beds, seen)
		if !b.Open {
			continue
		}
		v.open = true
		switch l := r.exceeded(g.shape, name); {
		case l != nil:
			v.limit = l
		case seen.obstacle == nil:
			v.allowed = true
		}
	}
	return v
}

// place returns the place at which the next entry of the group waits.
func (v *view) place() Place {
	p := Place{Beds: len(v.beds), Spent: v.spent}
	if len(v.beds) == 0 {
		return p
	}
	best := &v.beds[0]
	for i := range v.beds[1:] {
		if b := &v.beds[i+1]; cmp.Or(
			-cmpBool(b.open, best.open),
			-cmpBool(b.obstacle == nil, best.obstacle == nil),
			compareBegins(b.obstacle, best.obstacle),
			cmp.Compare(*b.ahead, *best.ahead)) < 0 {
			best = b
		}
	}
	p.WaitsFor, p.Ahead = best.name, *best.ahead
	if v.open && !v.allowed {
		p.Limit, p.Obstacle = v.limit, best.obstacle
	}
	return p
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
