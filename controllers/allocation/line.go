package allocation

import (
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// line is the queue of the benchmarks that may get a bed now. A benchmark is in it while it waits,
// has a bed that fits it, and has no lease that is being written.
type line struct {
	queue     *queue.Queue
	deadlines kit.Deadlines

	inventory *inventory
	teams     *teams
	gangs     *gangs
	ended     *ended
}

// place puts a benchmark and the members of its gang into the queue, or takes them out.
func (l *line) place(w *waiter) {
	l.placeOne(w)
	if w.b.Spec.Gang == nil {
		return
	}
	for _, other := range l.gangs.named(gangOf(w.b)).members {
		if other != w {
			l.placeOne(other)
		}
	}
}

// placeOne puts one benchmark into the queue, or takes it out.
func (l *line) placeOne(w *waiter) {
	key := queueKey(w.b)
	if w.class == nil || len(kit.BedsFor(w.b, w.class.beds)) == 0 || w.granting || l.inventory.holds(w.b) || !w.retry.IsZero() {
		l.queue.Remove(key)
		return
	}
	e := l.teams.entryOf(w.b)
	e.Beds, e.Limits, e.Pools = kit.BedsFor(w.b, w.class.beds), w.class.limits, w.class.pools
	e.Reservation, e.Hold, e.Expected = kit.ReservationOf(w.b), l.deadlines.HoldOf(w.b)+w.class.afterLease, l.ended.expected(w)
	e.Work = w.class.work.name()
	if !l.gangs.complete(w, &e) {
		l.queue.Remove(key)
		return
	}
	l.queue.Set(e)
}
