package queue

import (
	"math/bits"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Loads returns how teams use the pools: the beds that they have, given by running, and
// those that they could use. What a limit or a reservation forbids now is not wanted.
func (q *Queue) Loads(s Snapshot, running map[share.Account]int) map[share.Account]share.Load {
	r := newRound(s)
	usable := q.usable(r)
	wanted := map[share.Account]*wants{}
	for _, g := range q.groups {
		if s.Spent[g.team] || !q.complete(g) {
			continue
		}
		for pool, beds := range usable[g.shape] {
			a := share.Account{Team: g.team, Pool: pool}
			w := wanted[a]
			if w == nil {
				w = &wants{}
				wanted[a] = w
			}
			w.entries += len(g.entries)
			w.beds = w.beds.or(beds)
		}
	}
	loads := make(map[share.Account]share.Load, len(wanted))
	for a, n := range running {
		loads[a] = share.Load{Running: n, Wants: n}
	}
	for a, w := range wanted {
		l := loads[a]
		l.Wants = max(l.Running, min(l.Running+w.entries, w.beds.len()))
		loads[a] = l
	}
	return loads
}

// wants contains the demand of a team in a pool: the number of entries that wait, and the beds
// that any of them can use.
type wants struct {
	entries int
	beds    bedSet
}

// usable are the beds of each shape that nothing but their holders keeps from it, by pool.
func (q *Queue) usable(r *round) map[*shape]map[string]bedSet {
	beds, index := make([]*Bed, 0, len(r.beds)), make(map[string]int, len(r.beds))
	for name, b := range r.beds {
		index[name] = len(beds)
		beds = append(beds, &b)
	}
	type times struct {
		reservation Key
		hold        time.Duration
	}
	free := map[times][]bool{} // of reservations, and open
	all := make(map[*shape]map[string]bedSet, len(q.shapes))
	for s := range q.shapes {
		at := times{s.reservation, s.hold}
		if free[at] == nil && len(s.beds) > len(beds)/8 { // Many shapes have these beds.
			free[at] = make([]bool, len(beds))
			for i, b := range beds {
				free[at][i] = b.Open && r.obstacle(s, b) == nil
			}
		}
		of, now := map[string]bedSet{}, free[at]
		limited := s.isLimited(r.running)
		pool, set := "", bedSet(nil) // of the last bed
		for _, name := range s.beds {
			i, known := index[name]
			if !known || now != nil && !now[i] {
				continue
			}
			b := beds[i]
			if now == nil && (!b.Open || r.obstacle(s, b) != nil) || limited && r.exceeded(s, name) != nil {
				continue
			}
			if set == nil || b.Pool != pool {
				pool, set = b.Pool, of[b.Pool].with(i, len(index))
				of[pool] = set
			} else {
				set.with(i, len(index))
			}
		}
		all[s] = of
	}
	return all
}

// bedSet is a set of beds by their index.
type bedSet []uint64

func (b bedSet) with(i, of int) bedSet {
	if b == nil {
		b = make(bedSet, of/64+1)
	}
	b[i/64] |= 1 << (i % 64)
	return b
}

func (b bedSet) or(other bedSet) bedSet {
	if b == nil {
		return slices.Clone(other)
	}
	for i := range other {
		b[i] |= other[i]
	}
	return b
}

func (b bedSet) len() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}
