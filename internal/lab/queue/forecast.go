package queue

import (
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Start is the time at which an entry is expected to get a bed, and the bed.
type Start struct {
	At  time.Time
	Bed string
}

// End is the time at which a bed is expected to be returned.
type End struct {
	At time.Time
	// Keys of the limits under which its holder counts.
	Keys []string
}

// forecastAhead is the time for which a forecast looks ahead.
const forecastAhead = 7 * 24 * time.Hour

// Forecast returns when entries are expected to get a bed, for those that come first, up to a
// number. It decides as Decide does, again and again, at the times at which beds are expected
// to be returned and reservations begin and end. Ends contains the beds that are in use; a bed
// without an end is not expected to be returned. An entry whose duration is not known keeps
// its bed. Due is the number of beds that each team is due. The queue and the snapshot do not
// change.
func (q *Queue) Forecast(s Snapshot, ends map[string]End, due map[share.Account]float64, most int) map[Key]Start {
	f := forecast{queue: q.Clone(), s: s, ends: maps.Clone(ends), due: due, starts: map[Key]Start{}}
	f.s.Beds, f.s.Running, f.s.Standings = maps.Clone(s.Beds), maps.Clone(s.Running), maps.Clone(s.Standings)
	if f.s.Running == nil {
		f.s.Running = map[string]int{}
	}
	if f.ends == nil {
		f.ends = map[string]End{}
	}
	boundaries := boundariesOf(s)
	for f.queue.Len() > 0 && len(f.starts) < most {
		f.decide()
		next, found := f.next(boundaries)
		if !found || next.Sub(s.Now) > forecastAhead {
			break
		}
		f.advance(next)
	}
	return f.starts
}

// forecast is one in progress.
type forecast struct {
	queue  *Queue
	s      Snapshot
	ends   map[string]End
	due    map[share.Account]float64
	starts map[Key]Start
}

func (f *forecast) decide() {
	for _, d := range f.queue.Decide(f.s) {
		e := d.Entry
		f.starts[e.Key] = Start{At: f.s.Now, Bed: d.Bed}
		f.queue.Remove(e.Key)
		b := f.s.Beds[d.Bed]
		b.Leased = true
		f.s.Beds[d.Bed] = b
		end := End{At: f.s.Now.Add(e.Expected)}
		for _, l := range e.Limits {
			if l.Bed == "" || l.Bed == d.Bed {
				f.s.Running[l.Key]++
				end.Keys = append(end.Keys, l.Key)
			}
		}
		if e.Expected > 0 {
			f.ends[d.Bed] = end
		}
		f.stand(share.Account{Team: e.Team, Pool: b.Pool}, -e.Expected)
	}
}

// stand moves a team; without shares there is nothing to move.
func (f *forecast) stand(a share.Account, by time.Duration) {
	if len(f.s.Standings) == 0 {
		return
	}
	st := f.s.Standings[a]
	st.Behind += by
	f.s.Standings[a] = st
}

// next returns the time at which the next bed is returned, or a reservation begins or ends.
func (f *forecast) next(boundaries []time.Time) (next time.Time, found bool) {
	for _, end := range f.ends {
		if !found || end.At.Before(next) {
			next, found = end.At, true
		}
	}
	i, _ := slices.BinarySearchFunc(boundaries, f.s.Now, func(b, now time.Time) int {
		if b.After(now) {
			return 1
		}
		return -1
	})
	if i < len(boundaries) && (!found || boundaries[i].Before(next)) {
		next, found = boundaries[i], true
	}
	return next, found
}

// advance goes on to a time, at which beds are given back.
func (f *forecast) advance(to time.Time) {
	passed := max(to.Sub(f.s.Now), 0)
	f.s.Now = f.s.Now.Add(passed)
	for a, beds := range f.due {
		f.stand(a, time.Duration(beds*float64(passed)))
	}
	for name, end := range f.ends {
		if end.At.After(f.s.Now) {
			continue
		}
		delete(f.ends, name)
		b := f.s.Beds[name]
		b.Leased, b.Lease = false, nil
		f.s.Beds[name] = b
		for _, k := range end.Keys {
			f.s.Running[k]--
		}
	}
}

// boundariesOf are all begins and ends of reservations, in order, once for beds that have the
// same slices.
func boundariesOf(s Snapshot) []time.Time {
	var all []time.Time
	seen := map[*Slice]bool{}
	for _, b := range s.Beds {
		if len(b.Reserved) == 0 || seen[&b.Reserved[0]] {
			continue
		}
		seen[&b.Reserved[0]] = true
		for i := range b.Reserved {
			all = append(all, b.Reserved[i].From, b.Reserved[i].Until)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// Clone returns a queue with the same entries, which another goroutine can use.
func (q *Queue) Clone() *Queue {
	c := &Queue{shapes: maps.Clone(q.shapes), groups: make(map[string]*group, len(q.groups)), of: make(map[Key]member, len(q.of)), gangs: make(map[Key]map[Key]member, len(q.gangs))}
	for name, s := range c.shapes {
		copied := *s
		c.shapes[name] = &copied
	}
	for name, g := range q.groups {
		copied := *g
		copied.shape = c.shapes[g.shape.name]
		copied.entries = slices.Clone(g.entries)
		c.groups[name] = &copied
		for _, e := range copied.entries {
			c.of[e.Key] = member{&copied, e}
			c.joinGang(e.Key)
		}
	}
	return c
}
