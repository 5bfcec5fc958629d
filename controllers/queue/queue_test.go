package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func entry(name string, priority int32, seconds int, beds ...string) Entry {
	return Entry{
		Namespace: "team", Name: name, Priority: priority,
		Created: start.Add(time.Duration(seconds) * time.Second), Beds: beds,
	}
}

func TestAllocate(t *testing.T) {
	free := func(names ...string) []Bed {
		var beds []Bed
		for _, n := range names {
			beds = append(beds, Bed{Name: n, Free: true})
		}
		return beds
	}
	for name, tc := range map[string]struct {
		entries []Entry
		beds    []Bed
		want    map[string]Place
	}{
		"the only one gets the bed": {
			entries: []Entry{entry("a", 0, 0, "x")},
			beds:    free("x"),
			want:    map[string]Place{"a": {Bed: "x"}},
		},
		"first come, first served": {
			entries: []Entry{entry("late", 0, 9, "x"), entry("early", 0, 1, "x")},
			beds:    free("x"),
			want:    map[string]Place{"early": {Bed: "x"}, "late": {WaitsFor: "x"}},
		},
		"priority goes before age": {
			entries: []Entry{entry("old", 0, 0, "x"), entry("urgent", 100, 50, "x"), entry("later", -5, 0, "x")},
			beds:    []Bed{{Name: "x"}},
			want:    map[string]Place{"urgent": {WaitsFor: "x"}, "old": {Ahead: 1, WaitsFor: "x"}, "later": {Ahead: 2, WaitsFor: "x"}},
		},
		"the name decides between twins": {
			entries: []Entry{entry("b", 0, 0, "x"), entry("a", 0, 0, "x")},
			beds:    free("x"),
			want:    map[string]Place{"a": {Bed: "x"}, "b": {WaitsFor: "x"}},
		},
		"a free bed is preferred to the first by name": {
			entries: []Entry{entry("a", 0, 0, "x", "y")},
			beds:    []Bed{{Name: "x"}, {Name: "y", Free: true}},
			want:    map[string]Place{"a": {Bed: "y"}},
		},
		"a selector leaves a bed to the one who can use no other": {
			entries: []Entry{entry("any", 0, 0, "x", "y"), entry("fixed", 0, 1, "y")},
			beds:    free("x", "y"),
			want:    map[string]Place{"any": {Bed: "x"}, "fixed": {Bed: "y"}},
		},
		"waits where the fewest are ahead": {
			entries: []Entry{entry("a", 0, 0, "x"), entry("b", 0, 1, "x"), entry("any", 0, 2, "x", "y")},
			beds:    []Bed{{Name: "x"}, {Name: "y"}},
			want:    map[string]Place{"a": {WaitsFor: "x"}, "b": {Ahead: 1, WaitsFor: "x"}, "any": {WaitsFor: "y"}},
		},
		"a bed that is gone is not waited for": {
			entries: []Entry{entry("a", 0, 0, "gone")},
			beds:    free("x"),
			want:    map[string]Place{"a": {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]Place{}
			for k, p := range Allocate(tc.entries, tc.beds) {
				got[k.Name] = p
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllocateGivesNoBedTwice(t *testing.T) {
	var entries []Entry
	for i := range 20 {
		entries = append(entries, entry(string(rune('a'+i)), int32(i%3), i, "x", "y", "z"))
	}
	holders := map[string]Key{}
	for k, p := range Allocate(entries, []Bed{{"x", true}, {"y", true}, {"z", true}}) {
		if p.Bed == "" {
			continue
		}
		if other, taken := holders[p.Bed]; taken {
			t.Errorf("bed %s is given to %v and to %v", p.Bed, other, k)
		}
		holders[p.Bed] = k
	}
	if len(holders) != 3 {
		t.Errorf("%d of 3 free beds were given", len(holders))
	}
}

func TestWaiting(t *testing.T) {
	entries := []Entry{entry("a", 0, 0, "x"), entry("b", 0, 0, "x", "y"), entry("c", 0, 0)}
	for bed, want := range map[string]int{"x": 2, "y": 1, "z": 0} {
		if got := Waiting(entries, bed); got != want {
			t.Errorf("%d wait for %s, want %d", got, bed, want)
		}
	}
}
