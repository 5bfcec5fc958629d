package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func entry(name string, priority int32, seconds int, beds ...string) Entry {
	return Entry{
		Key: Key{"team", name}, Priority: priority,
		Created: start.Add(time.Duration(seconds) * time.Second), Beds: beds,
	}
}

func limited(e Entry, limits ...Limit) Entry {
	e.Limits = limits
	return e
}

func free(name string, conflicts ...string) Bed {
	return Bed{Name: name, Open: true, Conflicts: conflicts}
}

func leased(name string, conflicts ...string) Bed {
	return Bed{Name: name, Open: true, Leased: true, Conflicts: conflicts}
}

func closed(name string, conflicts ...string) Bed {
	return Bed{Name: name, Conflicts: conflicts}
}

func snapshot(beds ...Bed) Snapshot {
	s := Snapshot{Beds: map[string]Bed{}, Running: map[string]int{}}
	for _, b := range beds {
		s.Beds[b.Name] = b
	}
	return s
}

// decision is a queue, the beds, and who gets which bed.
type decision struct {
	entries []Entry
	beds    []Bed
	running map[string]int
	want    map[string]string
}

func (tc decision) check(t *testing.T) {
	t.Helper()
	s := snapshot(tc.beds...)
	s.Running = tc.running
	var got map[string]string
	for _, d := range New(tc.entries...).Decide(s) {
		if got == nil {
			got = map[string]string{}
		}
		got[d.Entry.Name] = d.Bed
	}
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestDecide(t *testing.T) {
	two := Limit{Key: "namespace/team", Max: 2}
	for name, tc := range map[string]decision{
		"the only one gets the bed": {
			entries: []Entry{entry("a", 0, 0, "x")},
			beds:    []Bed{free("x")},
			want:    map[string]string{"a": "x"},
		},
		"first come, first served": {
			entries: []Entry{entry("late", 0, 9, "x"), entry("early", 0, 1, "x")},
			beds:    []Bed{free("x")},
			want:    map[string]string{"early": "x"},
		},
		"priority goes before age": {
			entries: []Entry{entry("old", 0, 0, "x"), entry("urgent", 100, 50, "x"), entry("later", -5, 0, "x")},
			beds:    []Bed{free("x")},
			want:    map[string]string{"urgent": "x"},
		},
		"the name decides between twins": {
			entries: []Entry{entry("b", 0, 0, "x"), entry("a", 0, 0, "x")},
			beds:    []Bed{free("x")},
			want:    map[string]string{"a": "x"},
		},
		"a free bed is preferred to the first by name": {
			entries: []Entry{entry("a", 0, 0, "x", "y")},
			beds:    []Bed{leased("x"), free("y")},
			want:    map[string]string{"a": "y"},
		},
		"a closed bed is not given": {
			entries: []Entry{entry("a", 0, 0, "x")},
			beds:    []Bed{closed("x")},
		},
		"a bed that is gone is not given": {
			entries: []Entry{entry("a", 0, 0, "gone")},
			beds:    []Bed{free("x")},
		},
		"one of two free beds that share an interface": {
			entries: []Entry{entry("a", 0, 0, "x"), entry("b", 0, 1, "y")},
			beds:    []Bed{free("x", "y"), free("y", "x")},
			want:    map[string]string{"a": "x"},
		},
		"a leased bed blocks what shares an interface with it": {
			entries: []Entry{entry("a", 0, 0, "x")},
			beds:    []Bed{free("x", "y"), leased("y", "x")},
		},
		"a later one does not delay an earlier one through a shared interface": {
			// a waits for x, which y blocks; z shares an interface with x too.
			entries: []Entry{entry("a", 0, 0, "x"), entry("b", 0, 1, "z")},
			beds:    []Bed{free("x", "y", "z"), leased("y", "x"), free("z", "x")},
		},
		"what an earlier one waits for keeps nothing while it is closed": {
			entries: []Entry{entry("a", 0, 0, "x"), entry("b", 0, 1, "z")},
			beds:    []Bed{closed("x", "z"), free("z", "x")},
			want:    map[string]string{"b": "z"},
		},
		"a limit does not block later ones of others": {
			entries: []Entry{
				limited(entry("a", 0, 0, "x", "y"), two), limited(entry("b", 0, 1, "x", "y"), two), entry("c", 0, 2, "y"),
			},
			beds:    []Bed{free("x"), free("y")},
			running: map[string]int{two.Key: 1},
			want:    map[string]string{"a": "x", "c": "y"},
		},
		"a limit of one bed leaves the others": {
			entries: []Entry{limited(entry("a", 0, 0, "x", "y"), Limit{Bed: "x", Key: "k", Max: 1})},
			beds:    []Bed{free("x"), free("y")},
			running: map[string]int{"k": 1},
			want:    map[string]string{"a": "y"},
		},
		"one over its limit keeps no bed": {
			entries: []Entry{limited(entry("a", 0, 0, "x"), two), entry("b", 0, 1, "z")},
			beds:    []Bed{free("x", "z"), free("z", "x")},
			running: map[string]int{two.Key: 2},
			want:    map[string]string{"b": "z"},
		},
	} {
		t.Run(name, tc.check)
	}
}

func TestPlace(t *testing.T) {
	one := Limit{Bed: "x", Key: "k", Max: 1}
	for name, tc := range map[string]struct {
		entries []Entry
		beds    []Bed
		running map[string]int
		want    map[string]Place
	}{
		"by priority, then first come": {
			entries: []Entry{entry("old", 0, 0, "x"), entry("urgent", 100, 50, "x"), entry("later", -5, 0, "x")},
			beds:    []Bed{leased("x")},
			want: map[string]Place{
				"urgent": {WaitsFor: "x", Beds: 1}, "old": {Ahead: 1, WaitsFor: "x", Beds: 1}, "later": {Ahead: 2, WaitsFor: "x", Beds: 1},
			},
		},
		"waits where the fewest are ahead": {
			entries: []Entry{entry("a", 0, 0, "x"), entry("b", 0, 1, "x"), entry("any", 0, 2, "x", "y")},
			beds:    []Bed{leased("x"), leased("y")},
			want: map[string]Place{
				"a": {WaitsFor: "x", Beds: 1}, "b": {Ahead: 1, WaitsFor: "x", Beds: 1}, "any": {WaitsFor: "y", Beds: 2},
			},
		},
		"rather for an open bed": {
			entries: []Entry{entry("a", 0, 0, "y"), entry("any", 0, 1, "x", "y")},
			beds:    []Bed{closed("x"), leased("y")},
			want:    map[string]Place{"a": {WaitsFor: "y", Beds: 1}, "any": {Ahead: 1, WaitsFor: "y", Beds: 2}},
		},
		"for a bed that is gone": {
			entries: []Entry{entry("a", 0, 0, "gone")},
			want:    map[string]Place{"a": {}},
		},
		"by a limit": {
			entries: []Entry{limited(entry("a", 0, 0, "x"), one)},
			beds:    []Bed{leased("x")},
			running: map[string]int{"k": 1},
			want:    map[string]Place{"a": {WaitsFor: "x", Beds: 1, Limit: &one}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := snapshot(tc.beds...), New(tc.entries...)
			s.Running = tc.running
			got := map[string]Place{}
			for _, e := range tc.entries {
				got[e.Name], _ = q.Place(e.Key, s)
				p := got[e.Name]
				p.Order = 0
				got[e.Name] = p
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	q := New(entry("a", 0, 0, "x"), entry("b", 0, 0, "x", "y"), entry("c", 0, 0))
	for bed, want := range map[string]int{"x": 2, "y": 1, "z": 0} {
		if got := q.Waiting(bed); got != want {
			t.Errorf("%d wait for %s, want %d", got, bed, want)
		}
	}
	q.Remove(Key{"team", "b"})
	q.Set(entry("a", 0, 0, "z"))
	for bed, want := range map[string]int{"x": 0, "y": 0, "z": 1} {
		if got := q.Waiting(bed); got != want {
			t.Errorf("after the change %d wait for %s, want %d", got, bed, want)
		}
	}
}
