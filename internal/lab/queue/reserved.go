package queue

import (
	"sort"
	"time"
)

// Slice is a time in which a bed is kept for a reservation.
type Slice struct {
	// Reservation that has the bed.
	Reservation Key
	// Via is the bed that is reserved where that is another one, which shares an interface
	// with this bed; empty where it is this bed.
	Via string
	// Maintenance reports whether no benchmark gets the bed.
	Maintenance bool
	// From is the begin; Until is the end, and does not belong to it.
	From, Until time.Time
}

// usableBy reports whether an entry that names a reservation can have the bed in the slice.
func (s *Slice) usableBy(k Key) bool { return s.Reservation == k && s.Via == "" && !s.Maintenance }

// Obstacle is the reason why a reservation keeps an entry from a bed.
type Obstacle struct {
	// Bed that the entry could have otherwise.
	Bed string
	// Slice that is in the way. For an entry that names a reservation it is the slice of that
	// reservation which the entry waits for, or which has not enough time left; nil without
	// one.
	Slice *Slice
	// Short reports whether the slice is in progress, and that the entry would not end in it.
	Short bool
}

// obstacle returns the reason why a reservation keeps the entries of a shape from a bed now,
// or nil if none does.
func (r *round) obstacle(g *shape, b *Bed) *Obstacle {
	rest := b.Reserved[firstAfter(b.Reserved, r.now):]
	if g.reservation == (Key{}) {
		if len(rest) > 0 && rest[0].From.Before(r.now.Add(g.hold)) {
			return &Obstacle{Bed: b.Name, Slice: &rest[0]}
		}
		return nil
	}
	for i := range rest {
		s := &rest[i]
		if !s.usableBy(g.reservation) {
			continue
		}
		begun := !s.From.After(r.now)
		if begun && !r.now.Add(g.hold).After(s.Until) {
			return nil
		}
		return &Obstacle{Bed: b.Name, Slice: s, Short: begun}
	}
	return &Obstacle{Bed: b.Name}
}

// firstAfter returns the index of the first slice that ends after an instant. Slices are in the
// order of time and do not overlap.
func firstAfter(slices []Slice, t time.Time) int {
	return sort.Search(len(slices), func(i int) bool { return slices[i].Until.After(t) })
}

// BoundaryAfter returns the first begin or end of the slices of a bed after an instant; zero
// without one.
func BoundaryAfter(slices []Slice, t time.Time) time.Time {
	i := firstAfter(slices, t)
	switch {
	case i == len(slices):
		return time.Time{}
	case slices[i].From.After(t):
		return slices[i].From
	}
	return slices[i].Until
}
