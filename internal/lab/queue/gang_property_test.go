package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withGangs makes gangs of random entries of one team. Some miss an entry.
func withGangs(r *rand.Rand, entries []Entry) map[Key]int {
	sizes := map[Key]int{}
	for i := range entries {
		if e := &entries[i]; r.IntN(3) == 0 {
			e.Gang = Key{"team", fmt.Sprintf("gang-%s-%d", e.Team, r.IntN(2))}
			sizes[e.Gang]++
		}
	}
	for gang := range sizes {
		if r.IntN(5) == 0 {
			sizes[gang]++
		}
	}
	for i := range entries {
		entries[i].Missing = sizes[entries[i].Gang]
	}
	return sizes
}

// TestGangsAllOrNone holds the rules against random queues with gangs.
func TestGangsAllOrNone(t *testing.T) {
	started, waited := 0, 0
	for seed := range seeds(20000) {
		r := rand.New(rand.NewPCG(seed, 13))
		entries, s := shared(r)
		sizes := withGangs(r, entries)
		decisions := New(entries...).Decide(s)
		for i := range entries {
			if entries[i].Gang != (Key{}) {
				// A promise to an entry of a gang is not kept: nothing is preempted for one.
				for name, b := range s.Beds {
					if b.Promised == entries[i].Key {
						b.Promised = Key{}
						s.Beds[name] = b
					}
				}
			}
		}
		if err := soundly(entries, s, decisions); err != nil {
			t.Fatalf("seed %d: %v\nentries %+v\nsnapshot %+v\ndecisions %+v", seed, err, entries, s, decisions)
		}
		got := map[Key]int{}
		for _, d := range decisions {
			got[d.Entry.Gang]++
		}
		for gang, size := range sizes {
			switch got[gang] {
			case 0:
				waited++
			case size:
				started++
			default:
				t.Fatalf("seed %d: %d of the %d entries of %s get a bed", seed, got[gang], size, gang)
			}
		}
		if again := New(shuffled(r, entries)...).Decide(s); !cmp.Equal(decisions, again) {
			t.Fatalf("seed %d: the order of arrival changes the decision: %v, %v", seed, decisions, again)
		}
	}
	if started < 100 || waited < 100 {
		t.Errorf("only %d gangs started and %d waited", started, waited)
	}
}

// TestFirstGangStartsIfItCan compares a gang that comes first with all ways to seat it.
func TestFirstGangStartsIfItCan(t *testing.T) {
	yes, no := 0, 0
	for seed := range seeds(20000) {
		r := rand.New(rand.NewPCG(seed, 17))
		entries, s := random(r)
		n := min(1+r.IntN(4), len(entries))
		for i := range entries {
			if i < n {
				entries[i].Gang, entries[i].Missing, entries[i].Priority = Key{"team", "gang"}, n, 9
			}
		}
		want := n > 0 && seats(newOutcome(entries, s, nil), entries[:n])
		got := slices.ContainsFunc(New(entries...).Decide(s), func(d Decision) bool { return d.Entry.Missing > 0 })
		if got != want {
			t.Fatalf("seed %d: the gang gets its beds: %t, want %t\nentries %+v\nsnapshot %+v", seed, got, want, entries[:n], s)
		}
		if want {
			yes++
		} else {
			no++
		}
	}
	if yes < 50 || no < 50 {
		t.Errorf("only %d gangs started and %d did not", yes, no)
	}
}

// seats tries all beds for all entries.
func seats(o outcome, gang []Entry) bool {
	if len(gang) == 0 {
		return true
	}
	e := gang[0]
	for _, bed := range e.Beds {
		b, known := o.Beds[bed]
		if !known || !b.Open || o.used[bed] || !o.fits(e, bed) || !allowed(e, bed, o.running) ||
			slices.ContainsFunc(b.Conflicts, func(c string) bool { return o.used[c] }) {
			continue
		}
		after := newOutcome(nil, o.Snapshot, nil)
		for name, used := range o.used {
			after.used[name] = used
		}
		after.running = map[string]int{}
		for k, v := range o.running {
			after.running[k] = v
		}
		after.used[bed] = true
		for _, l := range e.Limits {
			if l.Bed == "" || l.Bed == bed {
				after.running[l.Key]++
			}
		}
		if seats(after, gang[1:]) {
			return true
		}
	}
	return false
}

// TestGangsDoNotStarve has single benchmarks of higher and lower order keep all beds busy.
func TestGangsDoNotStarve(t *testing.T) {
	for seed := range seeds(400) {
		r := rand.New(rand.NewPCG(seed, 19))
		beds := 2 + r.IntN(5)
		s := Snapshot{Beds: map[string]Bed{}, Running: map[string]int{}, Now: start}
		var names []string
		for i := range beds {
			names = append(names, fmt.Sprintf("bed-%d", i))
			s.Beds[names[i]] = Bed{Name: names[i], Open: true}
		}
		q := New()
		size := 2 + r.IntN(beds-1)
		for i := range size {
			q.Set(Entry{Key: Key{"team", fmt.Sprintf("g-%d", i)}, Created: start.Add(time.Minute), Beds: names, Gang: Key{"team", "gang"}, Missing: size})
		}
		ends, begun := map[string]time.Time{}, false
		for minute := range 1000 {
			s.Now = start.Add(time.Duration(minute) * time.Minute)
			for name, end := range ends {
				if !end.After(s.Now) {
					delete(ends, name)
					b := s.Beds[name]
					b.Leased = false
					s.Beds[name] = b
				}
			}
			for i := range beds {
				q.Set(Entry{Key: Key{"team", fmt.Sprintf("s-%d-%d", minute, i)}, Created: s.Now, Beds: names})
			}
			for _, d := range q.Decide(s) {
				begun = begun || d.Entry.Missing > 0
				q.Remove(d.Entry.Key)
				b := s.Beds[d.Bed]
				b.Leased = true
				s.Beds[d.Bed], ends[d.Bed] = b, s.Now.Add(time.Duration(1+r.IntN(60))*time.Minute)
			}
			if begun {
				if minute > 61 {
					t.Fatalf("seed %d: the gang of %d begins after %d minutes; benchmarks take 60 at most", seed, size, minute)
				}
				break
			}
		}
		if !begun {
			t.Fatalf("seed %d: a gang of %d on %d beds never begins", seed, size, beds)
		}
	}
}
