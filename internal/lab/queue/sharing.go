package queue

import (
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// Run is a benchmark that has a bed.
type Run struct {
	// Team for which it runs, in which pool.
	share.Account
	// Since is the time at which it got the bed, and Expected is the time for which it is
	// expected to have it; 0 if that is not known.
	Since    time.Time
	Expected time.Duration
	// Work identifies what it measures. It may be empty.
	Work string
}

// left returns the time for which the run is expected to have its bed, up to the horizon. One
// that is over its time is expected to end soon, at a tenth of it.
//
// The time that the run has had and this time add up to the expected time at the lease. The end of a run therefore does not change
// the standing of its team, and the order of teams does not depend on the seconds at which beds become free.
func (r *Run) left(now time.Time) time.Duration {
	if r.Expected <= 0 {
		return share.Horizon
	}
	return min(max(r.Since.Add(r.Expected).Sub(now), min(r.Expected, share.Horizon)/10), share.Horizon)
}

// Sharing keeps the book of a lab, and determines the standings of its teams.
type Sharing struct {
	Book *share.Book
	// Weights of teams; 1 for a team that is not there.
	Weights map[string]float64
	// counted is the time at which the demand of teams was last counted.
	counted time.Time
}

// clone returns shares with the same content.
func (h *Sharing) clone() *Sharing {
	c := *h
	c.Book = h.Book.Clone()
	return &c
}

// counting is the processor time per group that it takes at most to count what teams want,
// which is done the less often the more groups there are, and once a second at least.
const counting = 200 * time.Microsecond

// Stand sets the standings of a snapshot. A team stands by what it has had less than it was
// due over the window, with what follows from its runs within the horizon.
func (h *Sharing) Stand(q *Queue, s *Snapshot, runs []Run) {
	of := byAccount(runs)
	h.count(q, s, of, min(time.Duration(len(q.groups))*counting, time.Second))
	s.Standings = map[share.Account]Standing{}
	for _, a := range h.Book.Accounts() {
		s.Standings[a] = h.standingWith(a, of[a], s.Now)
	}
	for a := range of {
		if _, known := s.Standings[a]; !known {
			s.Standings[a] = h.standingWith(a, of[a], s.Now)
		}
	}
	// A team that comes for the first time within the second has its weight at least.
	for _, g := range q.groups {
		for _, pool := range g.poolsOf() {
			a := share.Account{Team: g.team, Pool: pool}
			if _, known := s.Standings[a]; !known {
				s.Standings[a] = h.standing(a)
			}
		}
	}
}

// Count counts at once what teams have and want.
func (h *Sharing) Count(q *Queue, s *Snapshot, runs []Run) { h.advance(q, s, byAccount(runs)) }

// count adds up the time until now, and counts what teams want unless that was done within the interval before.
func (h *Sharing) count(q *Queue, s *Snapshot, runs map[share.Account][]Run, interval time.Duration) {
	h.Book.AddUp(s.Now)
	if since := s.Now.Sub(h.counted); since >= 0 && since < interval {
		return
	}
	h.counted = s.Now
	h.advance(q, s, runs)
}

func (h *Sharing) advance(q *Queue, s *Snapshot, runs map[share.Account][]Run) {
	running := make(map[share.Account]int, len(runs))
	for a, of := range runs {
		running[a] = len(of)
	}
	h.Book.Advance(s.Now, share.State{Loads: q.Loads(*s, running), Beds: openBeds(s), Weights: h.Weights})
}

func byAccount(runs []Run) map[share.Account][]Run {
	of := map[share.Account][]Run{}
	for i := range runs {
		of[runs[i].Account] = append(of[runs[i].Account], runs[i])
	}
	return of
}

// standingWith returns the standing of a team with what follows from its runs.
func (h *Sharing) standingWith(a share.Account, runs []Run, now time.Time) Standing {
	st := h.standing(a)
	for i := range runs {
		st.Behind -= runs[i].left(now)
	}
	return st
}

func (h *Sharing) standing(a share.Account) Standing {
	weight := h.Weights[a.Team]
	if weight <= 0 {
		weight = 1
	}
	return Standing{Behind: h.Book.Use(a).Behind(), Weight: weight}
}

// openBeds counts the open beds of each pool.
func openBeds(s *Snapshot) map[string]int {
	beds := map[string]int{}
	for _, b := range s.Beds {
		if b.Open {
			beds[b.Pool]++
		}
	}
	return beds
}
