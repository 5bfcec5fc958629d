package allocation

import (
	"time"

	"nodrop.dev/nodrop/controllers/queue"
)

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
func (a *Allocator) placeOf(key queue.Key, s queue.Snapshot, now time.Time) (queue.Place, bool) {
	p := &a.shown.places
	if p.of == nil || (!p.computed.Equal(now) && now.Sub(p.computed) >= time.Duration(a.queue.Len())*placing) {
		p.of, p.computed = a.queue.Places(s), now
	}
	place, known := p.of[key]
	return place, known || !a.queue.Has(key)
}
