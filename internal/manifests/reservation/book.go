package reservation

import (
	"encoding/binary"
	"maps"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// slack is the time for which the occurrences that a Book has found stay enough while its span
// moves with the clock.
const slack = 24 * time.Hour

// Book computes calendars one after the other, and keeps what the next one has in common with
// the last one: the occurrences of a reservation that did not change, and the slices of beds
// whose reservations did not change. The zero value is ready. It is for one goroutine.
type Book struct {
	window  Span
	beds    map[string]bedFacts
	shared  map[string][]string
	entries map[types.NamespacedName]*entry
	// columns are the slices of beds by their takers.
	columns map[string]*column
	// numbered is the number of entries that were made, and placed the number of occurrences
	// that were put in order.
	numbered, placed int
}

// bedFacts are the properties of a bed on which claims depend.
type bedFacts struct {
	uid        types.UID
	generation int64
	labels     map[string]string
}

// entry is a reservation in a Book.
type entry struct {
	spec *v1alpha1.ReservationSpec
	key  types.NamespacedName
	// number differs from the one of every entry with another spec or window.
	number      int
	maintenance bool
	namespace   map[string]string // The labels of its namespace.
	claim       *Claim            // Without occurrences and losses.
	// occurrences in the window of the book, and why they cannot be found.
	occurrences []Span
	problem     error
}

// taker is an entry of a bed. Via is the bed that it reserves, if that is another one.
type taker struct {
	*entry
	via string
}

// Calendar computes the calendar of a span. Specs, beds and namespaces must not change while the
// book has them.
func (b *Book) Calendar(l CalendarInput, in Span) Calendar {
	if in.From.Before(b.window.From) || in.Until.After(b.window.Until) {
		*b = Book{window: Span{From: in.From, Until: in.Until.Add(slack)}, numbered: b.numbered, placed: b.placed}
	}
	moved := b.notice(l)
	entries := make(map[types.NamespacedName]*entry, len(l.Reservations))
	takers := map[string][]taker{}
	for _, r := range slices.SortedFunc(slices.Values(l.Reservations), Compare) {
		if !r.DeletionTimestamp.IsZero() {
			continue
		}
		e := b.entry(l, r, moved)
		entries[e.key] = e
		e.take(takers, b.shared)
	}
	b.entries = entries
	columns := map[string]*column{}
	c := Calendar{Of: map[string][]Slice{}, Claims: map[types.NamespacedName]*Claim{}}
	of := make(map[string]*column, len(takers))
	for bed, all := range takers {
		name := nameOf(all)
		if columns[name] == nil {
			columns[name] = b.columns[name]
		}
		if columns[name] == nil {
			columns[name] = newColumn(all)
			b.placed += columns[name].placed
		}
		of[bed] = columns[name]
		if booked := Overlapping(columns[name].slices, in); len(booked) > 0 {
			c.Of[bed] = booked
		}
	}
	b.columns = columns
	for key, e := range entries {
		c.Claims[key] = e.within(in, of)
	}
	return c
}

// notice takes over the beds, and reports whether one changed on which claims depend.
func (b *Book) notice(l CalendarInput) (moved bool) {
	beds := make(map[string]bedFacts, len(l.Beds))
	for name, bed := range l.Beds {
		beds[name] = bedFacts{bed.UID, bed.Generation, bed.Labels}
	}
	if !maps.EqualFunc(b.beds, beds, func(x, y bedFacts) bool {
		return x.uid == y.uid && x.generation == y.generation && maps.Equal(x.labels, y.labels)
	}) {
		b.beds, b.shared, moved = beds, Sharing(l.Beds), true
	}
	return moved
}

// entry returns the entry of a reservation, the one of the last calendar if nothing changed.
func (b *Book) entry(l CalendarInput, r *v1alpha1.Reservation, moved bool) *entry {
	key := KeyOf(r)
	var namespace map[string]string
	if ns := l.Namespaces[r.Namespace]; ns != nil {
		namespace = ns.Labels
	}
	maintenance := r.Namespace == l.Namespace
	e := b.entries[key]
	if e == nil || e.maintenance != maintenance || e.spec != &r.Spec && !equality.Semantic.DeepEqual(e.spec, &r.Spec) {
		b.numbered++
		e = &entry{key: key, number: b.numbered, maintenance: maintenance}
		var occurrences []Span
		occurrences, e.problem = Between(&r.Spec, b.window)
		e.occurrences = disjoint(occurrences)
		moved = true
	}
	if e.spec = &r.Spec; moved || !maps.Equal(e.namespace, namespace) {
		e.namespace, e.claim = namespace, l.claim(r)
		if e.problem != nil {
			e.claim.Problem, e.claim.Beds = e.problem.Error(), nil
		}
	}
	return e
}

// disjoint lets each occurrence begin at the end of the one before, where it begins earlier.
func disjoint(occurrences []Span) []Span {
	for i := 1; i < len(occurrences); i++ {
		occurrences[i].From = later(occurrences[i].From, occurrences[i-1].Until)
	}
	return occurrences
}

// take enters a reservation at its beds, and at beds that share an interface with one of them.
func (e *entry) take(takers map[string][]taker, shared map[string][]string) {
	if len(e.occurrences) == 0 {
		return
	}
	others := map[string]string{}
	for _, bed := range e.claim.Beds {
		takers[bed] = append(takers[bed], taker{entry: e})
		for _, other := range shared[bed] {
			if others[other] == "" {
				others[other] = bed
			}
		}
	}
	for other, via := range others {
		if _, own := slices.BinarySearch(e.claim.Beds, other); !own {
			takers[other] = append(takers[other], taker{e, via})
		}
	}
}

// nameOf names the takers of a bed: beds of the same name have the same slices.
func nameOf(takers []taker) string {
	name := make([]byte, 0, 4*len(takers))
	for _, t := range takers {
		name = binary.AppendUvarint(name, uint64(t.number))
		name = append(append(name, t.via...), 0)
	}
	return string(name)
}

// within returns the claim of an entry in a span, with what it loses there.
func (e *entry) within(in Span, of map[string]*column) *Claim {
	all := e.occurrences
	first := sort.Search(len(all), func(i int) bool { return all[i].Until.After(in.From) })
	end := sort.Search(len(all), func(i int) bool { return !all[i].From.Before(in.Until) })
	claim := &Claim{Beds: e.claim.Beds, Problem: e.claim.Problem}
	if first >= end {
		return claim
	}
	claim.Occurrences = all[first:end:end]
	for _, bed := range e.claim.Beds {
		c := of[bed]
		for i, n := range c.losses(e)[first:end] {
			o := claim.Occurrences[i]
			if o.From.Before(in.From) {
				n = c.lostIn(e, Span{From: in.From, Until: o.Until})
			}
			claim.LostTimes += int(n)
			if n > 0 && len(claim.Lost) < MaxLosses {
				claim.Lost = append(claim.Lost, c.lost(e, bed, o, in.From, MaxLosses-len(claim.Lost))...)
			}
		}
	}
	return claim
}
