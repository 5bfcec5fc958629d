package allocation

import (
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
)

// agenda lists the objects whose status may have to be written again.
type agenda struct {
	// urgent and news are benchmarks whose first message, or whose acceptance, is not written yet,
	// in the order in which they came. Urgent ones preempt others, and come first.
	urgent, news []queue.Key
	// plain are benchmarks whose first message contains no more than that they wait, and gives way to
	// leases.
	plain []queue.Key
	// benchmarks and beds contain the rest of the current pass over all benchmarks and beds.
	benchmarks []queue.Key
	beds       []string
	// stale reports whether something changed since the current pass began.
	stale bool
	// stalls is the time at which the next waiting benchmark counts as stalled; zero if none
	// will.
	stalls time.Time
}

// shownAt is the time of the last write of an object's status, and whether a write is under
// way.
type shownAt struct {
	time    time.Time
	writing bool
}

// add lists a benchmark whose message is news to people.
func (g *agenda) add(key queue.Key, preempts bool) {
	if preempts {
		g.urgent = append(g.urgent, key)
		return
	}
	g.news = append(g.news, key)
}

// hasNews reports whether a benchmark is listed whose message is news to people.
func (g *agenda) hasNews() bool { return len(g.urgent)+len(g.news) > 0 }

// nextNews removes and returns the next benchmark whose message is news to people.
func (g *agenda) nextNews() (key queue.Key, some bool) {
	for _, list := range []*[]queue.Key{&g.urgent, &g.news} {
		if len(*list) > 0 {
			key, *list = (*list)[0], (*list)[1:]
			return key, true
		}
	}
	g.urgent, g.news = nil, nil
	return key, false
}

// nextPlain removes and returns the next benchmark whose first message gave way to leases.
func (g *agenda) nextPlain() queue.Key {
	key := g.plain[0]
	if g.plain = g.plain[1:]; len(g.plain) == 0 {
		g.plain = nil
	}
	return key
}

// stallAt notes a time at which a benchmark counts as stalled.
func (g *agenda) stallAt(t time.Time) {
	if g.stalls.IsZero() || t.Before(g.stalls) {
		g.stalls = t
	}
}

// begin begins a pass over everything, if something changed and the last pass is over.
func (g *agenda) begin(inv *inventory, now time.Time) {
	if !g.stalls.IsZero() && !now.Before(g.stalls) {
		g.stalls, g.stale = time.Time{}, true
	}
	if !g.stale || len(g.benchmarks)+len(g.beds) > 0 {
		return
	}
	g.stale = false
	for key, w := range inv.benchmarks {
		if w.class != nil {
			g.benchmarks = append(g.benchmarks, key)
		}
	}
	for name := range inv.beds {
		g.beds = append(g.beds, name)
	}
}
