package queue

import "testing"

func ofGang(e Entry, missing int) Entry {
	e.Gang, e.Missing = Key{"team", "gang"}, missing
	return e
}

func TestGang(t *testing.T) {
	one := Limit{Key: "namespace/team", Max: 1}
	two := Limit{Key: "namespace/team", Max: 2}
	for name, tc := range map[string]decision{
		"all get their beds": {
			entries: []Entry{ofGang(entry("left", 0, 0, "x", "y"), 2), ofGang(entry("right", 0, 1, "x"), 2)},
			beds:    []Bed{free("x"), free("y")},
			want:    map[string]string{"left": "y", "right": "x"},
		},
		"one is not there yet": {
			entries: []Entry{ofGang(entry("left", 0, 0, "x", "y"), 2), entry("later", 0, 5, "x")},
			beds:    []Bed{free("x"), free("y")},
			want:    map[string]string{"later": "x"},
		},
		"none, and the free bed is kept": {
			entries: []Entry{ofGang(entry("left", 0, 0, "x", "y"), 2), ofGang(entry("right", 0, 1, "x", "y"), 2), entry("later", 0, 5, "x", "z")},
			beds:    []Bed{free("x"), leased("y"), free("z")},
			want:    map[string]string{"later": "z"},
		},
		"what comes first has the bed": {
			entries: []Entry{ofGang(entry("left", 0, 3, "x", "y"), 2), ofGang(entry("right", 0, 4, "x", "y"), 2), entry("first", 0, 1, "x")},
			beds:    []Bed{free("x"), leased("y")},
			want:    map[string]string{"first": "x"},
		},
		"the rest of a gang that has beds already": {
			entries: []Entry{ofGang(entry("right", 0, 1, "x"), 1)},
			beds:    []Bed{free("x"), leased("y")},
			want:    map[string]string{"right": "x"},
		},
		"one that can never start keeps nothing": {
			entries: []Entry{ofGang(entry("left", 0, 0, "x"), 2), ofGang(entry("right", 0, 1, "x"), 2), entry("later", 0, 5, "x")},
			beds:    []Bed{free("x")},
			want:    map[string]string{"later": "x"},
		},
		"one whose beds share an interface can never start": {
			entries: []Entry{ofGang(entry("left", 0, 0, "x"), 2), ofGang(entry("right", 0, 1, "y"), 2), entry("later", 0, 5, "x")},
			beds:    []Bed{free("x", "y"), free("y", "x")},
			want:    map[string]string{"later": "x"},
		},
		"one that needs more than its limit can never start": {
			entries: []Entry{limited(ofGang(entry("left", 0, 0, "x", "y"), 2), one), limited(ofGang(entry("right", 0, 1, "x", "y"), 2), one), limited(entry("later", 0, 5, "x"), one)},
			beds:    []Bed{free("x"), free("y")},
			want:    map[string]string{"later": "x"},
		},
		"one over its limit keeps the rest of it, and no bed": {
			entries: []Entry{
				limited(ofGang(entry("left", 0, 0, "x", "y"), 2), two), limited(ofGang(entry("right", 0, 1, "x", "y"), 2), two),
				limited(entry("mine", 0, 5, "x"), two), entry("other", 0, 6, "y"),
			},
			beds:    []Bed{free("x"), free("y"), leased("z")},
			running: map[string]int{"namespace/team": 1},
			want:    map[string]string{"other": "y"},
		},
	} {
		t.Run(name, tc.check)
	}
}
