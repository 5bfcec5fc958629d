package queue

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// large makes a queue of 10 teams in 4 pools: each entry waits for one bed, for the beds of a pool or for all beds. All beds but
// one are leased, and returned one after the other.
func large(beds, entries int) (*Queue, Snapshot, Outlook) {
	s := Snapshot{Beds: map[string]Bed{}, Standings: map[share.Account]Standing{}, Now: start.Add(time.Hour)}
	o := Outlook{Ends: map[string]End{}, Most: 100}
	pools, all := map[string][]string{}, []string{}
	for i := range beds {
		name, pool := fmt.Sprintf("bed-%04d", i), fmt.Sprint("pool-", i%4)
		s.Beds[name] = Bed{Name: name, Open: true, Leased: i > 0, Pool: pool}
		if i > 0 {
			o.Ends[name] = End{At: s.Now.Add(time.Duration(i) * time.Minute), Run: Run{Account: share.Account{Team: fmt.Sprint("team-", i%10), Pool: pool}}}
		}
		pools[pool], all = append(pools[pool], name), append(all, name)
	}
	q := New()
	for i := range entries {
		team, pool := fmt.Sprint("team-", i%10), fmt.Sprint("pool-", i%4)
		s.Standings[share.Account{Team: team, Pool: pool}] = Standing{Weight: 1}
		e := Entry{
			Key: Key{team, fmt.Sprint("entry-", i)}, Team: team, Priority: int32(i % 7), Created: start.Add(time.Duration(i) * time.Second), Expected: time.Hour,
			Beds: []string{all[i%beds]}, Pools: []string{pool},
		}
		switch i % 3 {
		case 1:
			e.Beds = pools[pool]
		case 2:
			e.Beds, e.Pools = all, []string{"pool-0", "pool-1", "pool-2", "pool-3"}
		}
		q.Set(e)
	}
	return q, s, o
}

// TestPlacesCost counts comparisons: each entry costs about as many in a large queue as in a small one, though a team has many more
// groups there, whose order changes with each bed that the team gets.
func TestPlacesCost(t *testing.T) {
	cost := func(entries int) float64 {
		q, s, _ := large(4, entries)
		r := newRound(s)
		if n := len(q.places(r)); n != entries {
			t.Fatalf("%d places of %d entries", n, entries)
		}
		return float64(r.compared) / float64(entries)
	}
	groups := func(beds int) float64 {
		q, s, _ := large(beds, 6000)
		r := newRound(s)
		q.places(r)
		return float64(r.compared) / 6000
	}
	if few, many := cost(1000), cost(8000); many > 2*few {
		t.Errorf("an entry costs %.0f comparisons in a queue of 1,000, and %.0f in one of 8,000", few, many)
	}
	if few, many := groups(4), groups(400); many > 2*few {
		t.Errorf("an entry costs %.0f comparisons with 4 beds, and %.0f with 400, which only some entries can use", few, many)
	}
}

// TestCells checks that beds which the same entries can use are counted once: an entry that can use a hundred of them does not count
// ahead of others on each.
func TestCells(t *testing.T) {
	q, s, _ := large(400, 6000)
	for i := range 6000 {
		if i%3 == 0 {
			q.Remove(Key{fmt.Sprint("team-", i%10), fmt.Sprint("entry-", i)}) // It waits for one bed.
		}
	}
	for _, v := range q.views(newRound(s)) {
		if want := v.beds / 100; len(v.cells) != want || len(v.candidates) != want {
			t.Errorf("%d cells and %d candidates of %d beds in pools of 100, want %d", len(v.cells), len(v.candidates), v.beds, want)
		}
	}
}

// TestForecastCost counts comparisons: the same number of expected starts costs about as many in a lab with four times the beds, entries
// and groups.
func TestForecastCost(t *testing.T) {
	cost := func(times int) int {
		q, s, o := large(100*times, 1500*times)
		f := q.Clone().forecast(s, o)
		if len(f.starts) < o.Most {
			t.Fatalf("%d entries have an expected start, want %d", len(f.starts), o.Most)
		}
		return f.compared
	}
	if small, large := cost(1), cost(4); float64(large) > 2*float64(small) {
		t.Errorf("%d comparisons in a lab of 100 beds, and %d in one of 400", small, large)
	}
}
