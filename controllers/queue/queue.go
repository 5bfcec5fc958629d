package queue

import (
	"cmp"
	"slices"
	"time"
)

// Entry is one benchmark that waits for a bed.
type Entry struct {
	// Namespace and Name of the benchmark.
	Namespace, Name string
	// Priority orders the queue, the highest first.
	Priority int32
	// Created orders entries of one priority, the oldest first.
	Created time.Time
	// Beds that would do, by name; an entry without any only waits.
	Beds []string
}

// Bed is one bed that can be waited for.
type Bed struct {
	// Name of the bed.
	Name string
	// Free says that the bed can be leased now.
	Free bool
}

// Place is what an entry gets.
type Place struct {
	// Bed to lease now; empty while the entry waits.
	Bed string
	// Ahead is how many other entries come first on the bed where the fewest do.
	Ahead int
	// WaitsFor is that bed; empty when no bed would do or a bed is given.
	WaitsFor string
}

// Key identifies an entry.
type Key struct {
	Namespace, Name string
}

// KeyOf returns the key of an entry.
func KeyOf(e Entry) Key { return Key{Namespace: e.Namespace, Name: e.Name} }

// Compare orders entries: priority from high to low, then first come, then
// namespace and name so that the order is total.
func Compare(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// Allocate gives every free bed to the first entry that it would do for, and
// everyone else a place. A free bed is preferred over a wait; among free beds
// the first by name is taken.
func Allocate(entries []Entry, beds []Bed) map[Key]Place {
	free := make(map[string]bool, len(beds))
	known := make(map[string]bool, len(beds))
	for _, b := range beds {
		known[b.Name] = true
		free[b.Name] = b.Free
	}
	waiting := map[string]int{}
	places := make(map[Key]Place, len(entries))
	for _, e := range slices.SortedFunc(slices.Values(entries), Compare) {
		places[KeyOf(e)] = place(e, known, free, waiting)
	}
	return places
}

// place takes a free bed for e, or counts it among those that wait.
func place(e Entry, known, free map[string]bool, waiting map[string]int) Place {
	wanted := slices.DeleteFunc(slices.Sorted(slices.Values(e.Beds)), func(b string) bool { return !known[b] })
	for _, b := range wanted {
		if free[b] {
			free[b] = false
			return Place{Bed: b}
		}
	}
	var p Place
	for i, b := range wanted {
		if i == 0 || waiting[b] < p.Ahead {
			p = Place{Ahead: waiting[b], WaitsFor: b}
		}
	}
	for _, b := range wanted {
		waiting[b]++
	}
	return p
}

// Waiting returns how many of the entries would take the bed.
func Waiting(entries []Entry, bed string) int {
	n := 0
	for _, e := range entries {
		if slices.Contains(e.Beds, bed) {
			n++
		}
	}
	return n
}
