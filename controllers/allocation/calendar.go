package allocation

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// calendar contains the reservations, and keeps the times for which they have beds up to date.
type calendar struct {
	objects map[queue.Key]*v1alpha1.Reservation
	// stale reports whether something changed on which the slices of beds depend.
	stale bool
	// computed is the time at which the slices were computed, by the operator's clock.
	computed time.Time
	book     reservation.Book
	// shown are the slices of beds as the queue has them.
	shown map[*reservation.Slice][]queue.Slice
	// due is the next boundary, at which the waiting benchmarks are shown again; zero without
	// one.
	due time.Time

	// namespace is the namespace of the lab.
	namespace string
	inventory *inventory
	teams     *teams
	agenda    *agenda
}

func newCalendar(namespace string, inv *inventory, t *teams, g *agenda) *calendar {
	return &calendar{
		objects: map[queue.Key]*v1alpha1.Reservation{}, stale: true,
		namespace: namespace, inventory: inv, teams: t, agenda: g,
	}
}

// apply takes over a version of a reservation; nil when it is gone.
func (c *calendar) apply(key queue.Key, r *v1alpha1.Reservation) {
	before := c.objects[key]
	switch {
	case r == nil:
		delete(c.objects, key)
	case before != nil && before.UID == r.UID && before.Generation == r.Generation && before.DeletionTimestamp.IsZero() == r.DeletionTimestamp.IsZero():
		return
	default:
		c.objects[key] = r
	}
	c.stale = true
}

// keep computes the slices of all beds again where they may have changed. Reservations are for times of day:
// a clock that was set counts, and the monotonic reading of the time does not.
func (c *calendar) keep(now time.Time) {
	now = now.Round(0)
	if age := now.Sub(c.computed); c.stale || age >= kit.Recalendar || age < 0 {
		c.stale, c.computed = false, now
		c.compute(reservation.Span{From: now, Until: now.Add(reservation.Horizon)})
		c.due = time.Time{}
		c.agenda.stale = true
	}
	if c.due.IsZero() || !now.Before(c.due) {
		c.agenda.stale = c.agenda.stale || !c.due.IsZero()
		c.due = c.boundaryAfter(now)
	}
}

// boundaryAfter returns the first begin or end of a slice after an instant; zero without one.
func (c *calendar) boundaryAfter(now time.Time) (first time.Time) {
	for _, seen := range c.inventory.beds {
		if t := queue.BoundaryAfter(seen.reserved, now); first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// nextAfter returns the time from now until a reservation begins or ends, at most recalendar.
func (c *calendar) nextAfter(now time.Time) time.Duration {
	wait := kit.Recalendar
	if !c.due.IsZero() {
		wait = min(wait, c.due.Sub(now))
	}
	return max(wait, time.Millisecond)
}

// compute sets the slices of all beds in a span of time.
func (c *calendar) compute(in reservation.Span) {
	lab := reservation.CalendarInput{Beds: c.inventory.allBeds(), Namespaces: c.teams.namespaces, Namespace: c.namespace}
	for _, r := range c.objects {
		lab.Reservations = append(lab.Reservations, r)
	}
	computed := c.book.Calendar(lab, in)
	shown := map[*reservation.Slice][]queue.Slice{}
	for name, seen := range c.inventory.beds {
		seen.reserved = nil
		booked := computed.Of[name]
		if len(booked) == 0 {
			continue
		}
		first := &booked[0] // Beds with the same reservations share their slices.
		if shown[first] == nil {
			if shown[first] = c.shown[first]; len(shown[first]) != len(booked) {
				shown[first] = shownSlices(booked)
			}
		}
		seen.reserved = shown[first]
	}
	c.shown = shown
}

// shownSlices returns the slices of a bed as the queue has them.
func shownSlices(booked []reservation.Slice) []queue.Slice {
	all := make([]queue.Slice, 0, len(booked))
	for i := range booked {
		s := &booked[i]
		all = append(all, queue.Slice{
			Reservation: queue.Key(s.Reservation), Via: s.Via, Maintenance: s.Maintenance, From: s.From, Until: s.Until,
		})
	}
	return all
}

// knows reports whether there is a reservation of this name.
func (c *calendar) knows(k queue.Key) bool { return c.objects[k] != nil }

// publishedSlices are the next slices of a bed as its status has them.
func publishedSlices(bed *v1alpha1.TestBed) []queue.Slice {
	var all []queue.Slice
	for _, r := range bed.Status.Reservations {
		all = append(all, queue.Slice{
			Reservation: keyOf(r.Reservation), Via: r.TestBedName, From: r.From.Time, Until: r.Until.Time,
		})
	}
	return all
}
