package allocation

import (
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/reservation"
)

// calendar is the allocator's view of the reservations.
type calendar struct {
	objects map[queue.Key]*v1alpha1.Reservation
	// stale reports whether something changed on which the slices of beds depend.
	stale bool
	// computed is the time at which the slices were computed, by the operator's clock.
	computed time.Time
	// boundaries are all begins and ends of slices, in order.
	boundaries []time.Time
	// due is the next boundary, at which the waiting benchmarks are shown again; zero without
	// one.
	due time.Time
}

func newCalendar() calendar {
	return calendar{objects: map[queue.Key]*v1alpha1.Reservation{}, stale: true}
}

// applyReservation takes over a version of a reservation; nil when it is gone.
func (a *Allocator) applyReservation(key queue.Key, r *v1alpha1.Reservation) {
	before := a.calendar.objects[key]
	switch {
	case r == nil:
		delete(a.calendar.objects, key)
	case before != nil && before.UID == r.UID && before.Generation == r.Generation && before.DeletionTimestamp.IsZero() == r.DeletionTimestamp.IsZero():
		return
	default:
		a.calendar.objects[key] = r
	}
	a.calendar.stale = true
}

// keepCalendar computes the slices of all beds again where they may have changed.
func (a *Allocator) keepCalendar(now time.Time) {
	c := &a.calendar
	if age := now.Sub(c.computed); c.stale || age >= kit.Recalendar || age < 0 {
		c.stale, c.computed = false, now
		a.computeCalendar(reservation.Span{From: now, Until: now.Add(reservation.Horizon)})
		c.due = time.Time{}
		a.shown.stale = true
	}
	if c.due.IsZero() || !now.Before(c.due) {
		a.shown.stale = a.shown.stale || !c.due.IsZero()
		c.due = time.Time{}
		if i, _ := slices.BinarySearchFunc(c.boundaries, now, func(b, t time.Time) int {
			if b.After(t) {
				return 1
			}
			return -1
		}); i < len(c.boundaries) {
			c.due = c.boundaries[i]
		}
	}
}

// boundaryAfter returns the time until a reservation begins or ends, at most recalendar.
func (a *Allocator) boundaryAfter() time.Duration {
	wait := kit.Recalendar
	if !a.calendar.due.IsZero() {
		wait = min(wait, a.calendar.due.Sub(a.Now()))
	}
	return max(wait, time.Millisecond)
}

func (a *Allocator) computeCalendar(in reservation.Span) {
	lab := reservation.CalendarInput{Beds: map[string]*v1alpha1.TestBed{}, Namespaces: a.namespaces, Namespace: a.Lab.Namespace}
	for name, view := range a.beds {
		lab.Beds[name] = view.bed
	}
	for _, r := range a.calendar.objects {
		lab.Reservations = append(lab.Reservations, r)
	}
	computed := reservation.NewCalendar(lab, in)
	a.calendar.boundaries = nil
	for name, view := range a.beds {
		view.reserved = nil
		for _, s := range computed.Of[name] {
			view.reserved = append(view.reserved, queue.Slice{
				Reservation: queue.Key(s.Reservation), Via: s.Via, Maintenance: s.Maintenance, From: s.From, Until: s.Until,
			})
			a.calendar.boundaries = append(a.calendar.boundaries, s.From, s.Until)
		}
	}
	slices.SortFunc(a.calendar.boundaries, time.Time.Compare)
}

// publishedSlices are the next slices of a bed as its status has them.
func publishedSlices(bed *v1alpha1.TestBed) []queue.Slice {
	var all []queue.Slice
	for _, r := range bed.Status.Reservations {
		namespace, name, _ := strings.Cut(r.Reservation, "/")
		all = append(all, queue.Slice{
			Reservation: queue.Key{Namespace: namespace, Name: name}, Via: r.TestBedName, From: r.From.Time, Until: r.Until.Time,
		})
	}
	return all
}
