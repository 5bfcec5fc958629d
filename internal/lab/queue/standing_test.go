package queue

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// TestPriorityWithinATeam gives a bed to the higher priority of a team, though the lower one
// has waited longer for a bed that is one of few.
func TestPriorityWithinATeam(t *testing.T) {
	s := snapshot(free("x"))
	for i := range 7 {
		name := fmt.Sprintf("other-%d", i)
		s.Beds[name] = leased(name)
	}
	s.Now = start.Add(time.Minute)
	s.Standings = map[share.Account]Standing{{Team: "a"}: {Weight: 1}, {Team: "b"}: {Weight: 1}}
	of := func(team string, e Entry) Entry {
		e.Team = team
		return e
	}
	q := New(of("a", entry("first", 0, 0, "x")), of("a", entry("second", 0, 3, "x")), of("b", entry("only", 0, 6, "x")), of("a", entry("soon", 50, 9, "x")))
	if got := q.Decide(s); len(got) != 1 || got[0].Entry.Name != "soon" {
		t.Errorf("decided %+v, want soon on x", got)
	}
	order := map[int]string{}
	for key, p := range q.Places(s) {
		order[p.Order] = key.Name
	}
	if want := "map[1:soon 2:only 3:first 4:second]"; fmt.Sprint(order) != want {
		t.Errorf("places %v, want %s", order, want)
	}
}

// TestBedsOfOneDecisionAreChargedAsRuns gives four beds at once, and one after the other: the teams get the same number.
func TestBedsOfOneDecisionAreChargedAsRuns(t *testing.T) {
	behind := map[string]time.Duration{"a": 15 * time.Second, "b": 0}
	beds := []string{"bed-0", "bed-1", "bed-2", "bed-3"}
	q := New()
	for i := range 4 {
		for team := range behind {
			q.Set(Entry{Key: Key{team, fmt.Sprint(i)}, Team: team, Created: start, Beds: beds, Expected: 10 * time.Second})
		}
	}
	given := func(together bool) map[string]int {
		q, s, got := q.Clone(), snapshot(free("bed-0"), free("bed-1"), free("bed-2"), free("bed-3")), map[string]int{}
		s.Standings = map[share.Account]Standing{}
		for q.Len() > 4 {
			for team, d := range behind {
				st := Standing{Behind: d, Weight: 1}
				for range got[team] {
					run := Run{Since: s.Now, Expected: 10 * time.Second}
					st.Behind -= run.left(s.Now)
				}
				s.Standings[share.Account{Team: team}] = st
			}
			decisions := q.Decide(s)
			if !together {
				decisions = decisions[:1]
			}
			for _, d := range decisions {
				got[d.Entry.Team]++
				q.Remove(d.Entry.Key)
				s.Beds[d.Bed] = leased(d.Bed)
			}
		}
		return got
	}
	if once, single := given(true), given(false); once["a"] != single["a"] || once["b"] != single["b"] || once["b"] == 0 {
		t.Errorf("the teams get %v beds in one decision, and %v one after the other", once, single)
	}
}

// TestGainByWaitingIsBounded lets the team of an entry that names its bed be ahead of another team by twice the time that entries
// take on average, and not further.
func TestGainByWaitingIsBounded(t *testing.T) {
	for _, test := range []struct {
		expected time.Duration
		want     string
	}{{10 * time.Second, "b"}, {5 * time.Minute, "a"}, {0, "a"}} {
		s := snapshot(free("x"))
		for i := range 7 {
			name := fmt.Sprintf("other-%d", i)
			s.Beds[name] = leased(name)
		}
		s.Now = start.Add(time.Hour)
		s.Standings = map[share.Account]Standing{{Team: "a"}: {Weight: 1}, {Team: "b"}: {Behind: time.Minute, Weight: 1}}
		anyBed := entry("any", 0, 3, "other-0", "other-1", "x")
		anyBed.Team, anyBed.Expected = "b", test.expected
		bound := entry("bound", 0, 0, "x")
		bound.Team, bound.Expected = "a", test.expected
		gone := entry("gone", 0, 0, "x")
		gone.Expected = time.Hour
		q := New(anyBed, bound, gone)
		q.Remove(gone.Key)
		for _, q := range []*Queue{q, q.Clone()} {
			if got := q.Decide(s); len(got) != 1 || got[0].Entry.Team != test.want {
				t.Errorf("with entries of %s: decided %+v, want the entry of team %s", test.expected, got, test.want)
			}
		}
	}
}
