package labsim

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// Policy names how a lab decides.
type Policy string

const (
	// Fair is the policy of the operator: priority, then the team that is furthest behind its
	// fair share over the window.
	Fair Policy = "fair"
	// FIFO is priority, then first come.
	FIFO Policy = "fifo"
	// Kueue orders as the fair sharing of Kueue is documented to: the team comes first
	// whose share of the beds, divided by its weight, is the lowest at this moment; then
	// priority, then first come. It keeps no history.
	Kueue Policy = "kueue"
)

// Policies are all of them.
func Policies() []Policy { return []Policy{Fair, FIFO, Kueue} }

// decider decides for a lab.
type decider interface {
	// arrive takes over a benchmark that waits from now on.
	arrive(e queue.Entry)
	// decide returns who gets a bed now.
	decide(q *queue.Queue, s queue.Snapshot, runs []queue.Run) []queue.Decision
	// leased takes over the state after the leases of a decision.
	leased(q *queue.Queue, s queue.Snapshot, runs []queue.Run)
}

func newDecider(p Policy, c Config, weights map[string]float64) decider {
	switch p {
	case FIFO:
		return fifo{}
	case Kueue:
		return &momentary{weights: weights, waiting: map[string][]queue.Entry{}}
	case Fair:
	}
	return &fair{sharing: queue.Sharing{Book: share.NewBook(c.Window), Weights: weights}, aging: c.Aging}
}

// fair decides as the operator does.
type fair struct {
	sharing queue.Sharing
	aging   queue.Aging
}

func (*fair) arrive(queue.Entry) {}

func (f *fair) decide(q *queue.Queue, s queue.Snapshot, runs []queue.Run) []queue.Decision {
	s.Aging = f.aging
	f.sharing.Stand(q, &s, runs)
	return q.Decide(s)
}

// leased counts the new leases at once, as the operator does when it has written them. Counted at the next decision, a team with
// many beds would have had one bed less for all the time.
func (f *fair) leased(q *queue.Queue, s queue.Snapshot, runs []queue.Run) {
	f.sharing.Count(q, &s, runs)
}

type fifo struct{}

func (fifo) arrive(queue.Entry) {}

func (fifo) decide(q *queue.Queue, s queue.Snapshot, _ []queue.Run) []queue.Decision {
	return q.Decide(s)
}

func (fifo) leased(*queue.Queue, queue.Snapshot, []queue.Run) {}

// momentary orders teams by what they have at the moment.
type momentary struct {
	weights map[string]float64
	// waiting are the entries of each team in their order.
	waiting map[string][]queue.Entry
}

func (m *momentary) arrive(e queue.Entry) {
	of := m.waiting[e.Team]
	i, _ := slices.BinarySearchFunc(of, e, queue.Compare)
	m.waiting[e.Team] = slices.Insert(of, i, e)
}

func (m *momentary) decide(_ *queue.Queue, s queue.Snapshot, runs []queue.Run) []queue.Decision {
	running := map[string]float64{}
	for i := range runs {
		running[runs[i].Team]++
	}
	teams := sortedKeys(m.waiting)
	free := map[string]queue.Bed{}
	for name, b := range s.Beds {
		if b.Open && !b.Leased {
			free[name] = b
		}
	}
	var decisions []queue.Decision
	for len(free) > 0 && len(teams) > 0 {
		first := 0
		for i, team := range teams {
			if running[team]/m.weights[team] < running[teams[first]]/m.weights[teams[first]] {
				first = i
			}
		}
		team := teams[first]
		// A team whose first does not fit tries the next.
		i, bed := nextOf(m.waiting[team], free, s.Now)
		if bed == "" {
			teams = slices.Delete(teams, first, first+1)
			continue
		}
		decisions = append(decisions, queue.Decision{Entry: m.waiting[team][i], Bed: bed})
		delete(free, bed)
		running[team]++
		m.waiting[team] = slices.Delete(m.waiting[team], i, i+1)
	}
	return decisions
}

func (*momentary) leased(*queue.Queue, queue.Snapshot, []queue.Run) {}

// nextOf is the first entry that can have a free bed, and the bed; empty when there is none.
func nextOf(entries []queue.Entry, free map[string]queue.Bed, now time.Time) (int, string) {
	for i := range entries {
		for _, name := range entries[i].Beds {
			if b, is := free[name]; is && endsBefore(entries[i].Hold, b.Reserved, now) {
				return i, name
			}
		}
	}
	return 0, ""
}

// endsBefore reports whether a benchmark that begins now ends before the next reservation.
func endsBefore(hold time.Duration, reserved []queue.Slice, now time.Time) bool {
	for i := range reserved {
		if s := &reserved[i]; s.Until.After(now) {
			return !s.From.Before(now.Add(hold))
		}
	}
	return true
}
