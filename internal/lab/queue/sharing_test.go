package queue

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// TestLeftOfARun charges a run for the time for which it is expected to have its bed, however short that is.
func TestLeftOfARun(t *testing.T) {
	for _, test := range []struct{ expected, had, want time.Duration }{
		{10 * time.Second, 4 * time.Second, 6 * time.Second},
		{10 * time.Second, 12 * time.Second, time.Second},
		{20 * time.Minute, 5 * time.Minute, 15 * time.Minute},
		{2 * time.Hour, time.Minute, share.Horizon},
		{2 * time.Hour, 3 * time.Hour, share.Horizon / 10},
		{0, time.Minute, share.Horizon},
	} {
		run := Run{Since: start, Expected: test.expected}
		if got := run.left(start.Add(test.had)); got != test.want {
			t.Errorf("a run of %s that has had its bed for %s is charged %s, want %s", test.expected, test.had, got, test.want)
		}
	}
}

// TestTeamThatWantsLittle gives the next bed to a team with a single entry, although another team has a large queue, which is
// due more beds for its weight.
func TestTeamThatWantsLittle(t *testing.T) {
	const busy, small = "busy", "small"
	h := &Sharing{Book: share.NewBook(6 * time.Hour), Weights: map[string]float64{small: 4}}
	q, s, beds := New(), snapshot(), []string{}
	var runs []Run
	for i := range 20 {
		name := fmt.Sprintf("bed-%02d", i)
		beds = append(beds, name)
		s.Beds[name] = leased(name)
		runs = append(runs, Run{Account: share.Account{Team: busy}, Since: start, Expected: time.Hour})
	}
	s.Now = start
	for i := range 50 {
		q.Set(Entry{Key: Key{busy, fmt.Sprint(i)}, Team: busy, Created: start, Beds: beds, Expected: 10 * time.Second})
	}
	h.Stand(q, &s, runs)
	s.Now = start.Add(time.Hour)
	q.Set(Entry{Key: Key{small, "one"}, Team: small, Created: s.Now, Beds: beds, Expected: 10 * time.Second})
	s.Beds[beds[0]] = free(beds[0])
	for i := range runs {
		runs[i].Since, runs[i].Expected = s.Now, 10*time.Second
	}
	h.Stand(q, &s, runs[1:])
	if got := q.Decide(s); len(got) != 1 || got[0].Entry.Team != small {
		t.Errorf("decided %+v, want the entry of team %s; standings %v", got, small, s.Standings)
	}
}
