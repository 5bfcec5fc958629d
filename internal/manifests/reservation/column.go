package reservation

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// column contains the slices of a bed, or of several beds with the same takers.
type column struct {
	slices []Slice
	// lostBy are the numbers of slices of others in each occurrence of a taker, by its number;
	// none if it loses nothing.
	lostBy map[int][]int32
	none   []int32
	// placed is the number of occurrences that were put in order.
	placed int
}

// occurrence is one of a taker. Of those that overlap, the one with the lowest rank has the bed.
type occurrence struct {
	from, until int64 // Seconds of the Unix epoch.
	rank        int
	// index is its place among the occurrences of its taker, and pieces is the number of slices
	// that it has.
	index  int
	pieces int32
}

// running are the occurrences in progress, the one with the lowest rank first.
type running []*occurrence

func (r running) Len() int           { return len(r) }
func (r running) Less(i, j int) bool { return r[i].rank < r[j].rank }
func (r running) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }

// Push is a part of heap.Interface.
func (r *running) Push(x any) { *r = append(*r, x.(*occurrence)) } //nolint:forcetypeassert // It is this type only.

// Pop is a part of heap.Interface.
func (r *running) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// newColumn divides a bed among takers, of which the first have it before the others. The cost
// grows with the number of occurrences n as n log n.
func newColumn(takers []taker) *column {
	longest, count := 0, 0
	for _, t := range takers {
		longest, count = max(longest, len(t.occurrences)), count+len(t.occurrences)
	}
	c := &column{lostBy: map[int][]int32{}, none: make([]int32, longest), placed: count}
	all := make([]occurrence, 0, count)
	for rank, t := range takers {
		for i, o := range t.occurrences {
			all = append(all, occurrence{from: o.From.Unix(), until: o.Until.Unix(), rank: rank, index: i})
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.rank, b.rank)) })
	c.slices = make([]Slice, 0, count)
	c.sweep(all, takers)
	for i := range all {
		o := &all[i]
		if t := takers[o.rank]; t.via == "" {
			c.count(o, t)
		}
	}
	return c
}

// sweep goes through time from one change to the next.
func (c *column) sweep(all []occurrence, takers []taker) {
	var now running
	for next, at := 0, int64(0); ; {
		for len(now) > 0 && now[0].until <= at {
			heap.Pop(&now)
		}
		if len(now) == 0 {
			if next == len(all) {
				return
			}
			at = all[next].from
		}
		for next < len(all) && all[next].from <= at {
			heap.Push(&now, &all[next])
			next++
		}
		first := now[0]
		end := first.until
		for next < len(all) && all[next].from < end {
			if all[next].rank < first.rank {
				end = all[next].from
				break
			}
			heap.Push(&now, &all[next])
			next++
		}
		first.pieces++
		t := takers[first.rank]
		c.slices = append(c.slices, Slice{
			Span:        Span{From: time.Unix(at, 0).UTC(), Until: time.Unix(end, 0).UTC()},
			Reservation: t.key, Via: t.via, Maintenance: t.maintenance,
		})
		at = end
	}
}

// count notes how many slices of others are in an occurrence.
func (c *column) count(o *occurrence, t taker) {
	there := Overlapping(c.slices, Span{From: time.Unix(o.from, 0), Until: time.Unix(o.until, 0)})
	lost := int32(len(there)) - o.pieces
	if lost == 0 {
		return
	}
	if c.lostBy[t.number] == nil {
		c.lostBy[t.number] = make([]int32, len(t.occurrences))
	}
	c.lostBy[t.number][o.index] = lost
}

// losses returns how many slices of others are in each occurrence of an entry.
func (c *column) losses(e *entry) []int32 {
	if lost := c.lostBy[e.number]; lost != nil {
		return lost
	}
	return c.none
}

// lostIn returns the number of slices of others in a span.
func (c *column) lostIn(e *entry, in Span) (n int32) {
	for _, s := range Overlapping(c.slices, in) {
		if s.Reservation != e.key {
			n++
		}
	}
	return n
}

// lost returns the first slices of others in an occurrence of an entry that end after an
// instant, most at most.
func (c *column) lost(e *entry, bed string, o Span, after time.Time, most int) []Loss {
	var all []Loss
	for _, s := range Overlapping(c.slices, Span{From: later(o.From, after), Until: o.Until}) {
		if s.Reservation == e.key {
			continue
		}
		if len(all) == most {
			break
		}
		all = append(all, Loss{Span: Span{From: later(s.From, o.From), Until: earlier(s.Until, o.Until)}, Bed: bed, To: s.Reservation})
	}
	return all
}
