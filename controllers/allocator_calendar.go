package controllers

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/reservation"
)

// recalendar is the interval at which the calendar is computed if no object changes: it covers
// reservation.Horizon, and grows by the time that has passed.
const recalendar = time.Hour

// leaseMargin is the time from a decision until the benchmark is seen to have its bed, which
// counts as part of its run. A lease that is not about to be written after half of it is
// decided again.
const leaseMargin = time.Minute

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
func (a *allocator) applyReservation(key queue.Key, r *v1alpha1.Reservation) {
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
func (a *allocator) keepCalendar(now time.Time) {
	c := &a.calendar
	if age := now.Sub(c.computed); c.stale || age >= recalendar || age < 0 {
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
func (a *allocator) boundaryAfter() time.Duration {
	wait := recalendar
	if !a.calendar.due.IsZero() {
		wait = min(wait, a.calendar.due.Sub(a.Now()))
	}
	return max(wait, time.Millisecond)
}

func (a *allocator) computeCalendar(in reservation.Span) {
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

// reservationOf returns the key of the reservation in whose time a benchmark runs; zero
// without one.
func reservationOf(b *v1alpha1.Benchmark) queue.Key {
	if b.Spec.ReservationName == "" {
		return queue.Key{}
	}
	return queue.Key(types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ReservationName})
}

// holdOf is the longest time for which a benchmark has a bed that it gets now, as far as
// operators run: what is left of its deadline, which all its runs together are held to, and the clean-up. How long a run is
// expected to take is an estimate, and no bound.
func (b *base) holdOf(bm *v1alpha1.Benchmark) time.Duration {
	return seconds(max(bm.Spec.ActiveDeadlineSeconds-bm.Status.ActiveSeconds, 0)) + b.Deadlines.CleanUp + leaseMargin
}
