package allocation

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/human"
	"nodrop.dev/nodrop/internal/reservation"
)

// explainObstacle describes the reservation that a benchmark waits for, and the time for which
// that has the bed. It names the reservation, but not its purpose.
func (a *Allocator) explainObstacle(b *v1alpha1.Benchmark, place queue.Place, now time.Time) kit.Explanation {
	o := place.Obstacle
	e := kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonReserved}
	own := kit.ReservationOf(b)
	takes := fmt.Sprintf("it may have the bed for %s (activeDeadlineSeconds %d, and %s to start and to clean up)",
		human.Duration(a.Deadlines.HoldOf(b)), b.Spec.ActiveDeadlineSeconds, human.Duration(a.Deadlines.CleanUp+kit.LeaseMargin))
	switch {
	case o.Slice == nil && a.calendarKnows(own):
		e.Message = fmt.Sprintf("reservation %s does not have bed %s now or later: see its status, or leave reservationName out", own, o.Bed)
	case o.Slice == nil:
		e.Message = fmt.Sprintf("waits for reservation %s, which does not have bed %s: see kubectl get reservations -n %s; apply it, or name another", own, o.Bed, own.Namespace)
	case own == (queue.Key{}) && !o.Slice.From.After(now):
		e.Message = fmt.Sprintf("reservation %s has bed %s %s", o.Slice.Reservation, reservedBed(o), span(o.Slice))
	case own == (queue.Key{}):
		e.Message = fmt.Sprintf("reservation %s has bed %s %s, and the benchmark would not end before: %s; a lower activeDeadlineSeconds lets it start",
			o.Slice.Reservation, reservedBed(o), span(o.Slice), takes)
	case o.Short:
		e.Message = fmt.Sprintf("reservation %s has bed %s %s, and the benchmark would not end before its end: %s; give a lower activeDeadlineSeconds, or extend the reservation",
			own, o.Bed, span(o.Slice), takes)
	default:
		e.Message = fmt.Sprintf("waits for reservation %s, which has bed %s %s", own, o.Bed, span(o.Slice))
	}
	if place.Beds > 1 {
		e.Message = fmt.Sprintf("waits for one of %d beds: %s", place.Beds, e.Message)
	}
	e.Message = kit.Bounded(e.Message)
	return e
}

// calendarKnows reports whether there is a reservation of this name.
func (a *Allocator) calendarKnows(k queue.Key) bool { return a.calendar.objects[k] != nil }

func reservedBed(o *queue.Obstacle) string {
	if o.Slice.Via == "" {
		return o.Bed
	}
	return fmt.Sprintf("%s, which shares an interface with %s,", o.Slice.Via, o.Bed)
}

func span(s *queue.Slice) string { return reservation.Span{From: s.From, Until: s.Until}.String() }
