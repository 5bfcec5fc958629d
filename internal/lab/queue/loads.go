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
	usable := q.usable(&round{now: s.Now, beds: s.Beds, running: s.Running})
	wanted := map[share.Account]*wants{}
	for _, g := range q.groups {
		if s.Spent[g.team] || !q.complete(g) {
			continue
		}
		for _, of := range usable[g.shape] {
			a := share.Account{Team: g.team, Pool: of.pool}
			w := wanted[a]
			if w == nil {
				w = &wants{}
				wanted[a] = w
			}
			w.entries += len(g.entries)
			w.beds = w.beds.or(of.beds)
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

// poolBeds are beds of a pool.
type poolBeds struct {
	pool string
	beds bedSet
}

// usable are the beds of each shape that nothing but their holders keeps from it, by pool.
func (q *Queue) usable(r *round) map[*shape][]poolBeds {
	beds, index := make([]Bed, 0, len(r.beds)), make(map[string]int, len(r.beds))
	// pools are the pools of the beds by index, and at is the place of each pool in the answer for a shape; 0 without one.
	pools, numbers := make([]int, 0, len(r.beds)), map[string]int{}
	for name, b := range r.beds {
		index[name] = len(beds)
		beds = append(beds, b)
		if _, known := numbers[b.Pool]; !known {
			numbers[b.Pool] = len(numbers)
		}
		pools = append(pools, numbers[b.Pool])
	}
	at := make([]int, len(numbers))
	type times struct {
		reservation Key
		hold        time.Duration
	}
	free := map[times][]bool{} // of reservations, and open
	all := make(map[*shape][]poolBeds, len(q.shapes))
	sets := bedSets{size: len(beds)/64 + 1}
	for s := range q.shapes {
		var now []bool
		if len(s.beds) > len(beds)/8 { // Many shapes have these beds.
			same := times{s.reservation, s.hold}
			if free[same] == nil {
				free[same] = make([]bool, len(beds))
				for i := range beds {
					free[same][i] = beds[i].Open && r.obstacle(s, &beds[i]) == nil
				}
			}
			now = free[same]
		}
		var of []poolBeds
		limited := s.isLimited(r.running)
		for _, name := range s.beds {
			i, known := index[name]
			if !known || now != nil && !now[i] {
				continue
			}
			b := &beds[i]
			if now == nil && (!b.Open || r.obstacle(s, b) != nil) || limited && r.exceeded(s, name) != nil {
				continue
			}
			if at[pools[i]] == 0 {
				of = append(of, poolBeds{b.Pool, sets.next()})
				at[pools[i]] = len(of)
			}
			of[at[pools[i]]-1].beds.add(i)
		}
		for _, p := range of {
			at[numbers[p.pool]] = 0
		}
		all[s] = of
	}
	return all
}

// bedSets makes sets of beds, many of them at once.
type bedSets struct {
	// size of a set, in words.
	size int
	left []uint64
}

// next returns an empty set.
func (s *bedSets) next() bedSet {
	const atOnce = 64
	if len(s.left) == 0 {
		s.left = make([]uint64, atOnce*s.size)
	}
	set := s.left[:s.size:s.size]
	s.left = s.left[s.size:]
	return set
}

// bedSet is a set of beds by their index.
type bedSet []uint64

func (b bedSet) add(i int) { b[i/64] |= 1 << (i % 64) }

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
