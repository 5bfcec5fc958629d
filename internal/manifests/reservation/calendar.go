package reservation

import (
	"cmp"
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// CalendarInput is everything that a calendar depends on. Objects are only read.
type CalendarInput struct {
	Reservations []*v1alpha1.Reservation
	Beds         map[string]*v1alpha1.TestBed
	Namespaces   map[string]*corev1.Namespace
	// Namespace is the lab's own, whose reservations are maintenance windows.
	Namespace string
}

// Slice is a time in which a bed is kept.
type Slice struct {
	Span
	// Reservation for which it is kept.
	Reservation types.NamespacedName
	// Via is the bed that is reserved where that is another one, which shares an interface
	// with this bed; empty where it is this bed.
	Via string
	// Maintenance reports whether no benchmark runs in it.
	Maintenance bool
}

// Loss is a time of a reservation that another one has, which was created earlier.
type Loss struct {
	Span
	Bed string
	To  types.NamespacedName
}

// MaxLosses is the maximum number of lost times that a claim lists.
const MaxLosses = 3

// Claim contains the beds and times that one reservation gets.
type Claim struct {
	// Beds that it reserves, sorted.
	Beds []string
	// Problem is the reason why it does not reserve all beds that it names; empty if it does.
	Problem string
	// Occurrences that overlap the span of the calendar, in their order.
	Occurrences []Span
	// Lost are the first times of others, in the order of beds and times, MaxLosses at most, and
	// LostTimes is the number of all.
	Lost      []Loss
	LostTimes int
}

// Calendar contains the reservations of each bed in a span of time.
type Calendar struct {
	// Of are the slices of each bed, in the order of time; they do not overlap. Beds with the same
	// reservations share them, so that they are only read.
	Of map[string][]Slice
	// Claims of all reservations.
	Claims map[types.NamespacedName]*Claim
}

// KeyOf names a reservation.
func KeyOf(r *v1alpha1.Reservation) types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// Compare orders reservations: first come, then namespace and name, so that the order is
// total. Of two that overlap, the first has the bed.
func Compare(a, b *v1alpha1.Reservation) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// NewCalendar computes the calendar of a span.
func NewCalendar(l CalendarInput, in Span) Calendar { return new(Book).Calendar(l, in) }

// Kept returns the slice of a bed that a reservation has at an instant, and the next one that it
// has after it; each is nil if it does not exist.
func (c Calendar) Kept(r types.NamespacedName, bed string, now time.Time) (current, next *Span) {
	claim := c.Claims[r]
	if claim == nil {
		return nil, nil
	}
	booked := c.Of[bed]
	for _, o := range claim.Occurrences {
		if !o.Until.After(now) {
			continue
		}
		kept := Overlapping(booked, o)
		for i := range kept {
			s := &kept[i]
			switch {
			case s.Reservation != r || s.Via != "":
			case s.Contains(now):
				current = &s.Span
			case s.From.After(now):
				return current, &s.Span
			}
		}
	}
	return current, nil
}

// Overlapping returns the slices of a bed that overlap a span.
func Overlapping(booked []Slice, in Span) []Slice {
	first := firstAfter(booked, in.From)
	rest := booked[first:]
	n := sort.Search(len(rest), func(i int) bool { return !rest[i].From.Before(in.Until) })
	return rest[:n:n]
}

// firstAfter returns the index of the first slice that ends after an instant.
func firstAfter(booked []Slice, t time.Time) int {
	return sort.Search(len(booked), func(i int) bool { return booked[i].Until.After(t) })
}

// Minus returns the parts of a span that are in none of others, which are in order.
func Minus(s Span, others []Span) []Span {
	taken := make([]Slice, 0, len(others))
	for _, o := range others {
		taken = append(taken, Slice{Span: o})
	}
	free, _ := without(s, taken)
	return free
}

// without returns the parts of a span that are in no slice, and the parts of slices that
// are in the span.
func without(in Span, taken []Slice) (free []Span, lost []Slice) {
	from := in.From
	for _, s := range taken {
		if !s.Overlaps(in) {
			continue
		}
		if from.Before(s.From) {
			free = append(free, Span{From: from, Until: s.From})
		}
		s.Span = Span{From: later(s.From, in.From), Until: earlier(s.Until, in.Until)}
		lost = append(lost, s)
		from = s.Until
	}
	if from.Before(in.Until) {
		free = append(free, Span{From: from, Until: in.Until})
	}
	return free, lost
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// String describes the lost time and the reservation that has it.
func (l Loss) String() string { return fmt.Sprintf("%s has bed %s %s", l.To, l.Bed, l.Span) }
