package queue

import (
	"cmp"
	"maps"
	"slices"
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
func (q *Queue) Places(s Snapshot) map[Key]Place { return q.places(newRound(s)) }

func (q *Queue) places(r *round) map[Key]Place {
	groups := slices.Collect(maps.Values(q.groups))
	q.rank(r, groups)
	views := q.views(r)
	places := make(map[Key]Place, len(q.of))
	order := r.turns(groups)
	for h := order.first(); h != nil; h = order.first() {
		v, e := views[h.group.shape], h.entry()
		p := v.place()
		p.Order, p.Spent = len(places)+1, r.spent[h.group.team]
		places[e.Key] = p
		for _, cell := range v.cells {
			cell.ahead++
		}
		r.charge(e, r.beds[p.WaitsFor].Pool)
		order.pass()
	}
	return places
}

// Place returns where the entry with this key waits, and whether it waits at all.
func (q *Queue) Place(k Key, s Snapshot) (Place, bool) {
	p, found := q.Places(s)[k]
	return p, found
}

// view describes how the entries of a shape see the beds that they can use.
type view struct {
	// beds is the number of beds that are known.
	beds int
	// cells of all these beds, and candidates for the bed that the entries wait for: the first by name of each cell, of the beds
	// that come first whatever the number of entries.
	cells      []*cell
	candidates []candidate
	// limit is one that keeps the entries from a bed, and kept reports whether there are open beds, and something keeps the
	// entries from each of them.
	limit *Limit
	kept  bool
}

// cell is a set of beds that the same entries can use, so that the same entries come first on each of them.
type cell struct {
	// ahead counts the entries that come first.
	ahead int
}

// candidate is a bed of a view.
type candidate struct {
	bed      *Bed
	cell     *cell
	obstacle *Obstacle
}

// views returns the views of all shapes.
func (q *Queue) views(r *round) map[*shape]*view {
	beds := make(map[string]*Bed, len(r.beds))
	for name, b := range r.beds {
		beds[name] = &b
	}
	cells := q.cells(beds)
	views := make(map[*shape]*view, len(q.shapes))
	for s := range q.shapes {
		views[s] = r.view(s, beds, cells)
	}
	return views
}

// cells divides the beds into cells: each shape has all beds of a cell, or none.
func (q *Queue) cells(beds map[string]*Bed) map[string]*cell {
	all := make(map[string]*cell, len(beds))
	for s := range q.shapes {
		parts := map[*cell]*cell{}
		for _, name := range s.beds {
			if beds[name] == nil {
				continue
			}
			whole := all[name]
			if parts[whole] == nil {
				parts[whole] = &cell{}
			}
			all[name] = parts[whole]
		}
	}
	return all
}

func (r *round) view(s *shape, beds map[string]*Bed, cells map[string]*cell) *view {
	v := &view{}
	open, allowed := false, false
	known, waited := map[*cell]bool{}, map[*cell]bool{}
	for _, name := range s.beds {
		b := beds[name]
		if b == nil {
			continue
		}
		c := candidate{bed: b, cell: cells[name], obstacle: r.obstacle(s, b)}
		v.beds++
		if !known[c.cell] {
			known[c.cell] = true
			v.cells = append(v.cells, c.cell)
		}
		if len(v.candidates) > 0 {
			order := c.compare(&v.candidates[0])
			if order < 0 {
				v.candidates = v.candidates[:0]
				clear(waited)
			}
			if order <= 0 && !waited[c.cell] {
				v.candidates = append(v.candidates, c)
				waited[c.cell] = true
			}
		} else {
			v.candidates = append(v.candidates, c)
			waited[c.cell] = true
		}
		if !b.Open {
			continue
		}
		open = true
		switch l := r.exceeded(s, name); {
		case l != nil:
			v.limit = l
		case c.obstacle == nil:
			allowed = true
		}
	}
	v.kept = open && !allowed
	return v
}

// compare orders beds by what does not depend on the entries that come first.
func (c *candidate) compare(than *candidate) int {
	return cmp.Or(
		-cmpBool(c.bed.Open, than.bed.Open),
		-cmpBool(c.obstacle == nil, than.obstacle == nil),
		compareBegins(c.obstacle, than.obstacle))
}

// place returns the place at which the next entry of the shape waits.
func (v *view) place() Place {
	p := Place{Beds: v.beds}
	if v.beds == 0 {
		return p
	}
	best := &v.candidates[0]
	for i := range v.candidates[1:] {
		if c := &v.candidates[i+1]; c.cell.ahead < best.cell.ahead {
			best = c
		}
	}
	p.WaitsFor, p.Ahead = best.bed.Name, best.cell.ahead
	if v.kept {
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
