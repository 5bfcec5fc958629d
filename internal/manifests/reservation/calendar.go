package reservation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/measure/calibration"
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

// Claim contains the beds and times that one reservation gets.
type Claim struct {
	// Beds that it reserves, sorted.
	Beds []string
	// Problem is the reason why it does not reserve all beds that it names; empty if it does.
	Problem string
	// Occurrences that overlap the span of the calendar, in their order.
	Occurrences []Span
	// Lost are times of others, in the order of beds and times.
	Lost []Loss
}

// Calendar contains the reservations of each bed in a span of time.
type Calendar struct {
	// Of are the slices of each bed, in the order of time; they do not overlap.
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
func NewCalendar(l CalendarInput, in Span) Calendar {
	c := Calendar{Of: map[string][]Slice{}, Claims: map[types.NamespacedName]*Claim{}}
	ordered := slices.SortedFunc(slices.Values(l.Reservations), Compare)
	shared := Sharing(l.Beds)
	for _, r := range ordered {
		if !r.DeletionTimestamp.IsZero() {
			continue
		}
		claim := l.claim(r)
		c.Claims[KeyOf(r)] = claim
		occurrences, err := Between(&r.Spec, in)
		if err != nil {
			claim.Problem, claim.Beds = err.Error(), nil
			continue
		}
		claim.Occurrences = occurrences
		c.take(r, claim, shared, r.Namespace == l.Namespace)
	}
	return c
}

// take gives the beds of a claim, and those that share an interface with them, to a
// reservation, as far as no earlier one has them.
func (c Calendar) take(r *v1alpha1.Reservation, claim *Claim, shared map[string][]string, maintenance bool) {
	via := map[string]string{}
	for _, bed := range claim.Beds {
		for _, other := range shared[bed] {
			if via[other] == "" {
				via[other] = bed
			}
		}
	}
	for _, bed := range claim.Beds {
		via[bed] = ""
	}
	for _, bed := range slices.Sorted(maps.Keys(via)) {
		for _, o := range claim.Occurrences {
			free, lost := without(o, c.Of[bed])
			for _, s := range free {
				c.insert(bed, Slice{Span: s, Reservation: KeyOf(r), Via: via[bed], Maintenance: maintenance})
			}
			if via[bed] != "" {
				continue
			}
			for _, s := range lost {
				claim.Lost = append(claim.Lost, Loss{Span: s.Span, Bed: bed, To: s.Reservation})
			}
		}
	}
}

// insert keeps the slices of a bed in the order of time.
func (c Calendar) insert(bed string, s Slice) {
	i, _ := slices.BinarySearchFunc(c.Of[bed], s, func(a, b Slice) int { return a.From.Compare(b.From) })
	c.Of[bed] = slices.Insert(c.Of[bed], i, s)
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

// claim returns the beds that a reservation can have.
func (l CalendarInput) claim(r *v1alpha1.Reservation) *Claim {
	claim := &Claim{}
	ns := l.Namespaces[r.Namespace]
	if ns == nil {
		ns = &corev1.Namespace{}
		ns.Name = r.Namespace
	}
	var problem string
	names := r.Spec.TestBedNames
	if r.Spec.TestBedSelector != nil {
		for name, bed := range l.Beds {
			if preflight.Selects(r.Spec.TestBedSelector, bed.Labels) {
				names = append(names, name)
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		bed := l.Beds[name]
		switch {
		case bed == nil:
			problem = "there is no TestBed " + name + ": kubectl get testbeds lists them"
		case r.Namespace == l.Namespace:
			claim.Beds = append(claim.Beds, name)
		default:
			if why := preflight.MayReserve(bed, ns, Length(&r.Spec)); why == "" {
				claim.Beds = append(claim.Beds, name)
			} else if r.Spec.TestBedSelector == nil || len(claim.Beds) == 0 {
				problem = why
			}
		}
	}
	if r.Spec.TestBedSelector != nil && len(claim.Beds) > 0 {
		problem = "" // The others are not meant.
	}
	if len(names) == 0 {
		problem = "no TestBed has the labels of testBedSelector: see kubectl get testbeds --show-labels"
	}
	claim.Problem = problem
	return claim
}

// Sharing returns for each bed the names of those that share an interface with it, sorted.
func Sharing(beds map[string]*v1alpha1.TestBed) map[string][]string {
	users := map[string][]string{}
	for name, bed := range beds {
		for _, i := range calibration.Interfaces(bed) {
			users[i] = append(users[i], name)
		}
	}
	shared := map[string][]string{}
	for name, bed := range beds {
		for _, i := range calibration.Interfaces(bed) {
			for _, other := range users[i] {
				if other != name && !slices.Contains(shared[name], other) {
					shared[name] = append(shared[name], other)
				}
			}
		}
		slices.Sort(shared[name])
	}
	return shared
}

// String describes the lost time and the reservation that has it.
func (l Loss) String() string { return fmt.Sprintf("%s has bed %s %s", l.To, l.Bed, l.Span) }
