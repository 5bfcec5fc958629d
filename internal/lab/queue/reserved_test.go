package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

var nightly, repair = Key{"team", "nightly"}, Key{"lab", "repair"}

func holding(minutes int, e Entry) Entry {
	e.Hold = time.Duration(minutes) * time.Minute
	return e
}

func in(reservation Key, e Entry) Entry {
	e.Reservation = reservation
	return e
}

func reserved(b Bed, slices ...Slice) Bed {
	b.Reserved = slices
	return b
}

func of(k Key, from, until int) Slice {
	return Slice{Reservation: k, Maintenance: k == repair, From: at(from), Until: at(until)}
}

// What starts around a reservation from minute 60 until 120.
func TestReserved(t *testing.T) {
	s := of(nightly, 60, 120)
	x := reserved(free("x"), s)
	for name, tc := range map[string]struct {
		now     int
		entries []Entry
		beds    []Bed
		want    map[string]string
		// obstacle of the first entry.
		obstacle *Obstacle
	}{
		"ends when the reservation begins": {entries: []Entry{holding(60, entry("a", 0, 0, "x"))}, want: map[string]string{"a": "x"}},
		"ends a minute too late":           {entries: []Entry{holding(61, entry("a", 0, 0, "x"))}, obstacle: &Obstacle{Bed: "x", Slice: &s}},
		"during the reservation":           {now: 119, entries: []Entry{holding(1, entry("a", 0, 0, "x"))}, obstacle: &Obstacle{Bed: "x", Slice: &s}},
		"when it has ended":                {now: 120, entries: []Entry{holding(999, entry("a", 0, 0, "x"))}, want: map[string]string{"a": "x"}},
		"a short one overtakes a long one": {entries: []Entry{holding(61, entry("a", 9, 0, "x")), holding(5, entry("b", 0, 1, "x"))}, want: map[string]string{"b": "x"}, obstacle: &Obstacle{Bed: "x", Slice: &s}},
		"another bed is free":              {entries: []Entry{holding(61, entry("a", 0, 0, "x", "y"))}, beds: []Bed{x, free("y")}, want: map[string]string{"a": "y"}},
		"the holder waits for its time":    {now: 59, entries: []Entry{in(nightly, holding(5, entry("a", 0, 0, "x")))}, obstacle: &Obstacle{Bed: "x", Slice: &s}},
		"the holder in its time":           {now: 60, entries: []Entry{in(nightly, holding(60, entry("a", 0, 0, "x")))}, want: map[string]string{"a": "x"}},
		"the holder too late":              {now: 61, entries: []Entry{in(nightly, holding(60, entry("a", 0, 0, "x")))}, obstacle: &Obstacle{Bed: "x", Slice: &s, Short: true}},
		"another's reservation":            {now: 60, entries: []Entry{in(Key{"team", "other"}, holding(5, entry("a", 0, 0, "x")))}, obstacle: &Obstacle{Bed: "x"}},
		"no benchmark in maintenance":      {now: 60, entries: []Entry{in(repair, holding(5, entry("a", 0, 0, "x")))}, beds: []Bed{reserved(free("x"), of(repair, 60, 120))}, obstacle: &Obstacle{Bed: "x"}},
		"what waits for a time keeps no bed": {
			entries: []Entry{holding(61, entry("a", 0, 0, "x")), holding(5, entry("b", 0, 1, "y"))},
			beds:    []Bed{reserved(free("x", "y"), s), free("y", "x")}, want: map[string]string{"b": "y"}, obstacle: &Obstacle{Bed: "x", Slice: &s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			beds := tc.beds
			if beds == nil {
				beds = []Bed{x}
			}
			snap := snapshot(beds...)
			snap.Now = at(tc.now)
			q := New(tc.entries...)
			var got map[string]string
			for _, d := range q.Decide(snap) {
				if got == nil {
					got = map[string]string{}
				}
				got[d.Entry.Name] = d.Bed
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			place, _ := q.Place(tc.entries[0].Key, snap)
			if diff := cmp.Diff(tc.obstacle, place.Obstacle); diff != "" {
				t.Errorf("obstacle (-want +got):\n%s", diff)
			}
		})
	}
}

// An entry that names a reservation waits for the bed where that begins first.
func TestPlaceOfReserved(t *testing.T) {
	snap := snapshot(free("w"), reserved(free("x"), of(nightly, 90, 100)), reserved(free("y"), of(nightly, 60, 70)))
	snap.Now = at(0)
	e := in(nightly, holding(5, entry("a", 0, 0, "w", "x", "y")))
	place, _ := New(e).Place(e.Key, snap)
	if place.WaitsFor != "y" {
		t.Errorf("it waits for %q", place.WaitsFor)
	}
}
