package queue

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/lab/share"
)

// referenceNext returns the entry whose turn it is, of all that are left, by a look at each of them.
func referenceNext(q *Queue, r *round, left map[Key]bool) member {
	groups := slices.Collect(maps.Values(q.groups))
	q.rank(r, groups)
	var best member
	for key := range left {
		m := q.of[key]
		if best.entry == nil || referenceCompare(r, m, best) < 0 {
			best = m
		}
	}
	return best
}

// referenceCompare orders two entries: what preempts, then the score of the team with the bonus of the entry, then the priority,
// then first come. Of the entries of a group only the order in the group counts.
func referenceCompare(r *round, a, b member) int {
	if a.group == b.group {
		return compare(a.entry, b.entry)
	}
	aged := func(m member) int32 { return r.aging.Priority(m.entry.Priority, m.entry.Created, r.now) }
	score := func(m member) float64 { return r.score(m.group) + r.bonus(m.group, m.entry) }
	return cmp.Or(
		-cmpBool(a.group.preempts, b.group.preempts), cmp.Compare(score(b), score(a)), cmp.Compare(aged(b), aged(a)),
		a.entry.Created.Compare(b.entry.Created), compare(a.entry, b.entry))
}

// firsts returns the first entry that is left of each group.
func firsts(q *Queue, left map[Key]bool) map[Key]bool {
	all := map[Key]bool{}
	for _, g := range q.groups {
		for _, e := range g.entries {
			if left[e.Key] {
				all[e.Key] = true
				break
			}
		}
	}
	return all
}

// referencePlaces does what Places does, for one entry after the other and each of its beds.
func referencePlaces(q *Queue, s Snapshot) map[Key]Place {
	r, places, ahead := newRound(s), map[Key]Place{}, map[string]int{}
	left := map[Key]bool{}
	for key := range q.of {
		left[key] = true
	}
	for len(left) > 0 {
		m := referenceNext(q, r, firsts(q, left))
		delete(left, m.entry.Key)
		p := Place{Order: len(places) + 1, Spent: s.Spent[m.group.team]}
		var best Bed
		var obstacle *Obstacle
		var limit *Limit
		open, allowed := false, false
		for _, name := range m.group.beds {
			b, known := s.Beds[name]
			if !known {
				continue
			}
			p.Beds++
			in := r.obstacle(m.group.shape, &b)
			if p.Beds == 1 || cmp.Or(-cmpBool(b.Open, best.Open), -cmpBool(in == nil, obstacle == nil), compareBegins(in, obstacle), cmp.Compare(ahead[name], ahead[best.Name])) < 0 {
				best, obstacle = b, in
			}
			open = open || b.Open
			i := slices.IndexFunc(m.group.limits, func(l Limit) bool { return (l.Bed == "" || l.Bed == name) && s.Running[l.Key] >= l.Max })
			if b.Open && i >= 0 {
				limit = &m.group.limits[i]
			}
			allowed = allowed || b.Open && i < 0 && in == nil
		}
		p.WaitsFor, p.Ahead = best.Name, ahead[best.Name]
		if open && !allowed {
			p.Limit, p.Obstacle = limit, obstacle
		}
		for _, name := range m.group.beds {
			ahead[name]++
		}
		places[m.entry.Key] = p
		r.charge(m.entry, best.Pool)
	}
	return places
}

// referenceDecide does what Decide does, and looks at the first entries of all groups each time.
func referenceDecide(q *Queue, s Snapshot) []Decision {
	r := newRound(s)
	if r.available == 0 {
		return nil
	}
	for _, g := range q.groups {
		g.round, g.can = r, slices.Clone(g.beds)
	}
	decisions := q.promised(r)
	left := map[Key]bool{}
	for key, m := range q.of {
		left[key] = !s.Spent[m.group.team] && !slices.ContainsFunc(decisions, func(d Decision) bool { return d.Entry.Key == key })
	}
	maps.DeleteFunc(left, func(_ Key, waits bool) bool { return !waits })
	for len(left) > 0 && r.available > 0 {
		m := referenceNext(q, r, firsts(q, left))
		if m.group.gang != (Key{}) {
			decisions = append(decisions, q.together(r, m.group.gang)...)
		} else if bed := r.pick(m.group); bed != "" {
			decisions = append(decisions, Decision{Entry: *m.entry, Bed: bed})
			r.take(m.group, m.entry, bed)
			delete(left, m.entry.Key)
			continue
		} else {
			r.keep(m.group)
		}
		for _, e := range m.group.entries {
			delete(left, e.Key)
		}
	}
	return decisions
}

// alike makes a random queue in which many entries have the same beds, with pools and gangs.
func alike(r *rand.Rand) ([]Entry, Snapshot) {
	entries, s := shared(r)
	if r.IntN(3) == 0 {
		withGangs(r, entries)
	}
	if r.IntN(2) == 0 {
		s.Standings = nil
	}
	if r.IntN(2) == 0 {
		for name, b := range s.Beds {
			b.Conflicts, b.Pool = nil, fmt.Sprint("pool-", r.IntN(2))
			s.Beds[name] = b
		}
		for _, team := range []string{"a", "b", "c"} {
			if s.Standings != nil {
				s.Standings[share.Account{Team: team, Pool: "pool-1"}] = Standing{Behind: time.Duration(r.IntN(9)-4) * time.Hour, Weight: 1}
			}
		}
		for i := range entries {
			entries[i].Pools = []string{"pool-0", "pool-1"}[:1+r.IntN(2)]
		}
	}
	if r.IntN(2) == 0 && len(entries) > 3 {
		for i := range entries {
			like := entries[r.IntN(3)]
			entries[i].Beds, entries[i].Limits, entries[i].Hold, entries[i].Reservation = like.Beds, like.Limits, like.Hold, like.Reservation
		}
	}
	return entries, s
}

// TestReference compares places and decisions of random queues with a computation that looks at every entry each time.
func TestReference(t *testing.T) {
	for seed := range seeds(8000) {
		entries, s := alike(rand.New(rand.NewPCG(seed, 17)))
		q := New(entries...)
		if got, want := q.Places(s), referencePlaces(q, s); !gocmp.Equal(got, want) {
			t.Fatalf("seed %d: other places than by the reference: %s", seed, gocmp.Diff(want, got))
		}
		if got, want := q.Decide(s), referenceDecide(q, s); len(got)+len(want) > 0 && !gocmp.Equal(got, want) {
			t.Fatalf("seed %d: other decisions than by the reference: %s", seed, gocmp.Diff(want, got))
		}
	}
}

// referenceForecast does what Forecast does, with the standings of all teams and all beds at each time.
func referenceForecast(q *Queue, s Snapshot, o Outlook) map[Key]Start {
	q, sharing, starts := q.Clone(), o.Sharing.clone(), map[Key]Start{}
	s.Beds, s.Running = maps.Clone(s.Beds), maps.Clone(s.Running)
	begun, ends, boundaries := s.Now, maps.Clone(o.Ends), boundariesOf(s)
	for q.Len() > 0 && len(starts) < o.Most {
		var runs []Run
		for _, end := range ends {
			runs = append(runs, end.Run)
		}
		sharing.Stand(q, &s, runs)
		for _, d := range referenceDecide(q, s) {
			e, b := d.Entry, s.Beds[d.Bed]
			q.Remove(e.Key)
			starts[e.Key] = Start{At: s.Now, Bed: d.Bed}
			b.Leased = true
			s.Beds[d.Bed] = b
			end := End{At: s.Now.Add(e.Expected), Run: Run{Account: share.Account{Team: e.Team, Pool: b.Pool}, Since: s.Now, Expected: e.Expected}}
			for _, l := range e.Limits {
				if l.Bed == "" || l.Bed == d.Bed {
					s.Running[l.Key]++
					end.Keys = append(end.Keys, l.Key)
				}
			}
			ends[d.Bed] = end
		}
		latest := begun.Add(forecastAhead)
		next := latest.Add(1)
		for _, end := range ends {
			if end.At.Before(next) {
				next = end.At
			}
		}
		for _, at := range boundaries {
			if at.After(s.Now) && at.Before(next) {
				next = at
			}
		}
		if next.After(latest) {
			break
		}
		s.Now = next
		for name, end := range ends {
			if end.At.After(s.Now) {
				continue
			}
			delete(ends, name)
			b := s.Beds[name]
			b.Leased, b.Lease = false, nil
			s.Beds[name] = b
			for _, k := range end.Keys {
				s.Running[k]--
			}
		}
	}
	return starts
}

// TestReferenceForecast compares the expected starts of random queues with shares with a computation that has the standings of all
// teams at each time.
func TestReferenceForecast(t *testing.T) {
	some := 0
	for seed := range seeds(1000) {
		r := rand.New(rand.NewPCG(seed, 19))
		entries, s := alike(r)
		for i := range entries {
			entries[i].Expected += 2 * time.Minute
		}
		o := Outlook{Ends: map[string]End{}, Sharing: &Sharing{Book: share.NewBook(6 * time.Hour)}, Most: 1000}
		for a, st := range s.Standings {
			o.Sharing.Book.Carry(a, share.Use{Due: st.Behind + 5*time.Hour, Had: 5 * time.Hour}, s.Now)
		}
		for name, b := range s.Beds {
			if b.Leased {
				o.Ends[name] = End{At: s.Now.Add(time.Duration(2+r.IntN(50)) * time.Minute), Run: Run{Account: share.Account{Team: "a", Pool: b.Pool}, Since: s.Now, Expected: time.Hour}}
			}
		}
		q := New(entries...)
		got, want := q.Forecast(s, o), referenceForecast(q, s, o)
		some += len(got)
		if !gocmp.Equal(got, want) {
			t.Fatalf("seed %d: other starts than by the reference: %s", seed, gocmp.Diff(want, got))
		}
	}
	if some < 100 {
		t.Errorf("only %d starts were compared", some)
	}
}
