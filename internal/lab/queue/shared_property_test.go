package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/lab/share"
)

// seeds returns the number of random queues that a test checks: fewer with -short.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 8
	}
	return n
}

// shared makes a random queue of three teams with standings, aging, leases and promises.
func shared(r *rand.Rand) ([]Entry, Snapshot) {
	entries, s := random(r)
	teams := []string{"a", "b", "c"}
	s.Standings = map[share.Account]Standing{}
	for _, team := range teams {
		s.Standings[share.Account{Team: team}] = Standing{Behind: time.Duration(r.IntN(7)-3) * time.Hour, Weight: float64(1 + r.IntN(3))}
	}
	if r.IntN(2) == 0 {
		s.Aging = Aging{Interval: time.Minute, Points: 1, Max: 2}
	}
	if r.IntN(4) == 0 {
		s.Spent = map[string]bool{teams[r.IntN(3)]: true}
	}
	for i := range entries {
		e := &entries[i]
		e.Team, e.Expected = teams[r.IntN(3)], time.Duration(r.IntN(60))*time.Minute
		e.Preempts = e.Priority == 2
	}
	for name, b := range s.Beds {
		if b.Leased {
			b.Lease = &Lease{Holder: Key{"team", "holder-" + name}, Priority: int32(r.IntN(3)), Preemptible: r.IntN(2) == 0, Since: s.Now.Add(-time.Duration(r.IntN(60)) * time.Minute)}
		} else if r.IntN(4) == 0 && len(entries) > 0 {
			b.Promised = entries[r.IntN(len(entries))].Key
		}
		s.Beds[name] = b
	}
	return entries, s
}

// TestSharedDecisions holds the rules of a decision against random queues of teams.
func TestSharedDecisions(t *testing.T) {
	for seed := range seeds(20000) {
		r := rand.New(rand.NewPCG(seed, 7))
		entries, s := shared(r)
		q := New(entries...)
		decisions := q.Decide(s)
		if err := soundly(entries, s, decisions); err != nil {
			t.Fatalf("seed %d: %v\nentries %+v\nsnapshot %+v\ndecisions %+v", seed, err, entries, s, decisions)
		}
		if again := New(shuffled(r, entries)...).Decide(s); !cmp.Equal(decisions, again) {
			t.Fatalf("seed %d: the order of arrival changes the decision: %v, %v", seed, decisions, again)
		}
	}
}

func shuffled(r *rand.Rand, entries []Entry) []Entry {
	other := slices.Clone(entries)
	r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	return other
}

// soundly returns an error that names the rule that a decision breaks, or nil.
func soundly(entries []Entry, s Snapshot, decisions []Decision) error {
	o := newOutcome(entries, s, nil)
	given := map[Key]bool{}
	for _, d := range decisions {
		e, b := d.Entry, s.Beds[d.Bed]
		switch {
		case given[e.Key]:
			return fmt.Errorf("%s gets two beds", e.Key)
		case !slices.Contains(e.Beds, d.Bed) || !b.Open:
			return fmt.Errorf("%s gets bed %s, which it cannot use", e.Key, d.Bed)
		case o.used[d.Bed]:
			return fmt.Errorf("bed %s is given twice", d.Bed)
		case slices.ContainsFunc(b.Conflicts, func(other string) bool { return o.used[other] }):
			return fmt.Errorf("bed %s shares an interface with one in use", d.Bed)
		case s.Spent[e.Team]:
			return fmt.Errorf("team %s has no bed-hours left", e.Team)
		case !o.fits(e, d.Bed):
			return fmt.Errorf("%s overruns a reservation of bed %s", e.Key, d.Bed)
		case !allowed(e, d.Bed, o.running):
			return fmt.Errorf("%s is over a limit", e.Key)
		}
		given[e.Key], o.used[d.Bed] = true, true
		for _, l := range e.Limits {
			if l.Bed == "" || l.Bed == d.Bed {
				o.running[l.Key]++
			}
		}
	}
	for name, b := range s.Beds {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Key == b.Promised })
		if i < 0 || !o.used[name] || b.Leased {
			continue
		}
		j := slices.IndexFunc(decisions, func(d Decision) bool { return d.Bed == name })
		e := entries[i]
		if got := decisions[j].Entry.Key; got != e.Key && !given[e.Key] && slices.Contains(e.Beds, name) && o.fits(e, name) && !s.Spent[e.Team] && allowed(e, name, s.Running) && len(b.Conflicts) == 0 {
			return fmt.Errorf("bed %s was taken for %s, and goes to %s", name, e.Key, got)
		}
	}
	return nil
}

// TestPreemptions holds the rules of preemption against random queues.
func TestPreemptions(t *testing.T) {
	some := 0
	for seed := range seeds(20000) {
		entries, s := shared(rand.New(rand.NewPCG(seed, 9)))
		q := New(entries...)
		for _, d := range q.Decide(s) {
			q.Remove(d.Entry.Key)
			b := s.Beds[d.Bed]
			b.Leased = true
			s.Beds[d.Bed] = b
		}
		all := q.Preempt(s)
		some += len(all)
		beds, by := map[string]bool{}, map[Key]bool{}
		for _, p := range all {
			b := s.Beds[p.Bed]
			switch {
			case !q.Has(p.For.Key) || !p.For.Preempts:
				t.Fatalf("seed %d: %+v is for one that does not wait or not preempt", seed, p)
			case beds[p.Bed] || by[p.For.Key]:
				t.Fatalf("seed %d: %+v is one too many", seed, p)
			case b.Lease == nil || !b.Lease.Preemptible || b.Lease.Priority >= p.For.Priority:
				t.Fatalf("seed %d: %+v takes the bed of %+v", seed, p, b.Lease)
			case !slices.Contains(p.For.Beds, p.Bed) || !newOutcome(entries, s, nil).fits(p.For, p.Bed):
				t.Fatalf("seed %d: %+v cannot use the bed", seed, p)
			}
			beds[p.Bed], by[p.For.Key] = true, true
		}
		for _, p := range all {
			for name, b := range s.Beds {
				if b.Lease != nil && b.Lease.Preemptible && !beds[name] && slices.Contains(p.For.Beds, name) &&
					b.Open && len(b.Conflicts) == 0 && newOutcome(entries, s, nil).fits(p.For, name) && len(p.For.Limits) == 0 && b.Lease.Priority < p.Lease.Priority {
					t.Fatalf("seed %d: %+v is taken, and bed %s has priority %d", seed, p, name, b.Lease.Priority)
				}
			}
		}
	}
	if some < 100 {
		t.Errorf("only %d preemptions were looked at", some)
	}
}

// TestForecastComesTrue lets time pass as the forecast assumes: everything starts when and
// where it was expected to.
func TestForecastComesTrue(t *testing.T) {
	for seed := range seeds(2000) {
		entries, s := shared(rand.New(rand.NewPCG(seed, 11)))
		s.Standings, s.Aging = nil, Aging{}
		ends := map[string]End{}
		for name, b := range s.Beds {
			// A bed that is kept free for another entry may be given at a time between those that
			// the forecast looks at.
			b.Promised, b.Conflicts = Key{}, nil
			if b.Leased {
				ends[name] = End{At: s.Now.Add(time.Duration(1+len(ends)*7) * time.Minute)}
			}
			s.Beds[name] = b
		}
		for i := range entries {
			entries[i].Expected += time.Minute
			entries[i].Hold = entries[i].Expected
		}
		q := New(entries...)
		want := q.Forecast(s, Outlook{Ends: ends, Most: 1000})
		if q.Len() != len(entries) {
			t.Fatalf("seed %d: the forecast changed the queue", seed)
		}
		if got := happens(q, s, ends); !cmp.Equal(got, want) {
			t.Fatalf("seed %d: %s", seed, cmp.Diff(want, got))
		}
	}
}

// TestForecastAgreesWithPlaces looks for entries that are expected to start now, though a
// reservation, a limit or the bed-hours of their team keep them from their beds, or one that is
// expected before the reservation ends that has its only bed.
func TestForecastAgreesWithPlaces(t *testing.T) {
	some := 0
	for seed := range seeds(2000) {
		entries, s := shared(rand.New(rand.NewPCG(seed, 13)))
		q := New(entries...)
		places := q.Places(s)
		starts := q.Expect(s, Outlook{Most: 1000})
		if again := q.Expect(s, Outlook{Most: 1000}); !cmp.Equal(again, starts) {
			t.Fatalf("seed %d: asked again, starts are different: %s", seed, cmp.Diff(starts, again))
		}
		for key, start := range starts {
			p := places[key]
			kept := p.Obstacle != nil || p.Limit != nil || p.Spent
			if kept && !start.At.After(s.Now) {
				t.Fatalf("seed %d: %s is expected to start now, and waits: %+v", seed, key, p)
			}
			if o := p.Obstacle; o != nil && o.Slice != nil && p.Beds == 1 && q.of[key].group.reservation == (Key{}) {
				some++
				if start.At.Before(o.Slice.Until) {
					t.Fatalf("seed %d: %s is expected to start at %s, and its bed is reserved until %s", seed, key, start.At, o.Slice.Until)
				}
			}
		}
	}
	if some < 10 {
		t.Errorf("only %d entries that wait for the end of a reservation were looked at", some)
	}
}

// happens decides minute by minute, and returns when entries start.
func happens(q *Queue, s Snapshot, ends map[string]End) map[Key]Start {
	starts, busy := map[Key]Start{}, map[string]time.Time{}
	keys := map[string][]Limit{}
	for name, e := range ends {
		busy[name] = e.At
	}
	for range 60 * 24 {
		for name, until := range busy {
			if until.After(s.Now) {
				continue
			}
			delete(busy, name)
			b := s.Beds[name]
			b.Leased = false
			s.Beds[name] = b
			for _, l := range keys[name] {
				s.Running[l.Key]--
			}
			delete(keys, name)
		}
		for _, d := range q.Decide(s) {
			starts[d.Entry.Key] = Start{At: s.Now, Bed: d.Bed}
			q.Remove(d.Entry.Key)
			b := s.Beds[d.Bed]
			b.Leased = true
			s.Beds[d.Bed] = b
			busy[d.Bed] = s.Now.Add(d.Entry.Expected)
			for _, l := range d.Entry.Limits {
				if l.Bed == "" || l.Bed == d.Bed {
					s.Running[l.Key]++
					keys[d.Bed] = append(keys[d.Bed], l)
				}
			}
		}
		s.Now = s.Now.Add(time.Minute)
	}
	return starts
}
