package allocation

import (
	"time"

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
	past      *past
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
	e.Reservation, e.Hold, e.Expected = kit.ReservationOf(w.b), l.deadlines.HoldOf(w.b), l.past.expected(w)
	if !l.gangs.complete(w, &e) {
		l.queue.Remove(key)
		return
	}
	l.queue.Set(e)
}

// placing is the processor time that the places of one entry take at most, by which they are
// computed the less often the longer the queue is.
const placing = 100 * time.Microsecond

// places contains the places at which all entries wait, as computed at a time.
type places struct {
	of       map[queue.Key]queue.Place
	computed time.Time
}

// placeOf returns the place at which a benchmark waits. It returns false for one that came
// after the places were computed.
func (p *places) placeOf(waiting *queue.Queue, key queue.Key, s queue.Snapshot, now time.Time) (queue.Place, bool) {
	if p.of == nil || (!p.computed.Equal(now) && now.Sub(p.computed) >= time.Duration(waiting.Len())*placing) {
		p.of, p.computed = waiting.Places(s), now
	}
	place, known := p.of[key]
	return place, known || !waiting.Has(key)
}
