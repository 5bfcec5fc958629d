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
