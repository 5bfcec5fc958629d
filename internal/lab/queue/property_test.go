package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// random makes a queue and a snapshot: few beds with many conflicts, so that every
// rule matters.
func random(r *rand.Rand) ([]Entry, Snapshot) {
	s := Snapshot{Beds: map[string]Bed{}, Running: map[string]int{}}
	var names []string
	for i := range 1 + r.IntN(8) {
		name := fmt.Sprintf("bed-%d", i)
		names = append(names, name)
		s.Beds[name] = Bed{Name: name, Open: r.IntN(5) > 0}
	}
	for range r.IntN(2 * len(names)) {
		a, b := names[r.IntN(len(names))], names[r.IntN(len(names))]
		if a != b && !slices.Contains(s.Beds[a].Conflicts, b) {
			addConflict(s, a, b)
			addConflict(s, b, a)
		}
	}
	for _, name := range names {
		b := s.Beds[name]
		b.Leased = r.IntN(3) == 0 && !slices.ContainsFunc(b.Conflicts, func(o string) bool { return s.Beds[o].Leased })
		s.Beds[name] = b
	}
	s.Now = start.Add(time.Duration(r.IntN(60)) * time.Minute)
	for _, name := range names {
		b := s.Beds[name]
		b.Reserved = randomSlices(r, names)
		s.Beds[name] = b
	}
	keys := []string{"namespace/a", "namespace/b"}
	for _, k := range keys {
		s.Running[k] = r.IntN(3)
	}
	var entries []Entry
	for i := range r.IntN(30) {
		e := Entry{
			Key: Key{"team", fmt.Sprintf("e-%d", i)}, Priority: int32(r.IntN(3)),
			Created: start.Add(time.Duration(r.IntN(10)) * time.Second),
			Hold:    time.Duration(1+r.IntN(40)) * time.Minute,
		}
		if r.IntN(3) == 0 {
			e.Reservation = reservations[r.IntN(len(reservations))]
		}
		for _, name := range append(names, "gone") {
			if r.IntN(3) == 0 {
				e.Beds = append(e.Beds, name)
			}
		}
		if r.IntN(2) == 0 {
			e.Limits = []Limit{{Key: keys[r.IntN(2)], Max: 1 + r.IntN(4)}}
			if r.IntN(2) == 0 && len(e.Beds) > 0 {
				e.Limits[0].Bed = e.Beds[0]
			}
		}
		entries = append(entries, e)
	}
	return entries, s
}

var reservations = []Key{{"team", "nightly"}, {"team", "bench"}, {"lab", "repair"}}

// randomSlices are reserved times of a bed from start on, in whole minutes.
func randomSlices(r *rand.Rand, names []string) []Slice {
	var all []Slice
	at := start
	for range r.IntN(4) {
		at = at.Add(time.Duration(r.IntN(40)) * time.Minute)
		s := Slice{Reservation: reservations[r.IntN(len(reservations))], From: at}
		s.Maintenance = s.Reservation.Namespace == "lab"
		if r.IntN(4) == 0 {
			s.Via = names[r.IntN(len(names))]
		}
		at = at.Add(time.Duration(1+r.IntN(60)) * time.Minute)
		s.Until = at
		all = append(all, s)
	}
	return all
}

// fits determines minute by minute whether an entry may have a bed from now on for as long as
// it may take: in a reserved minute only the entry that names the reservation of this bed, and
// in another one only an entry that names none.
func (o outcome) fits(e Entry, bed string) bool {
	var inOne *Slice
	for t := o.Now; t.Before(o.Now.Add(e.Hold)); t = t.Add(time.Minute) {
		var is *Slice
		for i, s := range o.Beds[bed].Reserved {
			if !t.Before(s.From) && t.Before(s.Until) {
				is = &o.Beds[bed].Reserved[i]
			}
		}
		if is == nil && e.Reservation != (Key{}) || is != nil && (is.Reservation != e.Reservation || is.Via != "" || is.Maintenance) {
			return false
		}
		if is != nil && inOne != nil && is != inOne {
			return false // In one slice, not in two that follow each other.
		}
		inOne = is
	}
	return true
}

func addConflict(s Snapshot, a, b string) {
	bed := s.Beds[a]
	bed.Conflicts = append(bed.Conflicts, b)
	s.Beds[a] = bed
}

// outcome is a decision, with what the rules are about.
type outcome struct {
	Snapshot
	entries []Entry
	given   map[Key]string
	used    map[string]bool
	running map[string]int
}

func newOutcome(entries []Entry, s Snapshot, decisions []Decision) outcome {
	o := outcome{Snapshot: s, entries: slices.SortedFunc(slices.Values(entries), Compare), given: map[Key]string{}, used: map[string]bool{}, running: maps.Clone(s.Running)}
	for name, b := range s.Beds {
		o.used[name] = b.Leased
	}
	for _, d := range decisions {
		o.given[d.Entry.Key] = d.Bed
		o.used[d.Bed] = true
		for _, l := range d.Entry.Limits {
			if l.Bed == "" || l.Bed == d.Bed {
				o.running[l.Key]++
			}
		}
	}
	return o
}

// waitsFor reports whether an entry without a bed waits for one that is open and that its
// limits allow, counted by running.
func (o outcome) waitsFor(e Entry, bed string, running map[string]int) bool {
	return o.given[e.Key] == "" && slices.Contains(e.Beds, bed) && o.Beds[bed].Open && o.fits(e, bed) && allowed(e, bed, running)
}

func allowed(e Entry, bed string, running map[string]int) bool {
	return !slices.ContainsFunc(e.Limits, func(l Limit) bool {
		return (l.Bed == "" || l.Bed == bed) && running[l.Key] >= l.Max
	})
}

// delays reports whether a bed for an entry would delay an earlier one that waits for a
// bed which shares an interface with it.
func (o outcome) delays(e Entry, bed string, running map[string]int) bool {
	for _, earlier := range o.entries {
		if Compare(earlier, e) >= 0 {
			break
		}
		for _, other := range o.Beds[bed].Conflicts {
			if o.waitsFor(earlier, other, running) {
				return true
			}
		}
	}
	return false
}

func (o outcome) check(t *testing.T, decisions []Decision) {
	t.Helper()
	seen := map[string]Key{}
	for i, d := range decisions {
		bed := o.Beds[d.Bed]
		if other, twice := seen[d.Bed]; twice || bed.Leased {
			t.Errorf("bed %s is given to %s, and %s has it", d.Bed, d.Entry, other)
		}
		seen[d.Bed] = d.Entry.Key
		if !bed.Open || !slices.Contains(d.Entry.Beds, d.Bed) {
			t.Errorf("bed %s is given to %s: it is closed, or of no use", d.Bed, d.Entry)
		}
		if !o.fits(d.Entry, d.Bed) {
			t.Errorf("bed %s is given to %s, which may have it for %s from %s on: reserved are %+v", d.Bed, d.Entry, d.Entry.Hold, o.Now, bed.Reserved)
		}
		for _, other := range bed.Conflicts {
			if o.used[other] {
				t.Errorf("beds %s and %s share an interface and are both in use", d.Bed, other)
			}
		}
		if i > 0 && Compare(decisions[i-1].Entry, d.Entry) >= 0 {
			t.Errorf("%s is decided after %s", d.Entry, decisions[i-1].Entry)
		}
		// Counts only grow, so that one who may wait at the end waited all the time.
		if o.delays(d.Entry, d.Bed, o.running) {
			t.Errorf("bed %s for %s delays an earlier one through a shared interface", d.Bed, d.Entry)
		}
		for _, earlier := range o.entries {
			if Compare(earlier, d.Entry) < 0 && o.waitsFor(earlier, d.Bed, o.running) && !o.delays(earlier, d.Bed, o.Running) {
				t.Errorf("bed %s is given to %s, and %s comes first", d.Bed, d.Entry, earlier)
			}
		}
	}
	for key, n := range o.running {
		for _, d := range decisions {
			for _, l := range d.Entry.Limits {
				if l.Key == key && (l.Bed == "" || l.Bed == d.Bed) && o.Running[key] >= l.Max {
					t.Errorf("%s gets bed %s with %d of at most %d running under %s", d.Entry, d.Bed, n, l.Max, key)
				}
			}
		}
	}
	for name, bed := range o.Beds {
		if o.used[name] || !bed.Open || slices.ContainsFunc(bed.Conflicts, func(c string) bool { return o.used[c] }) {
			continue
		}
		for _, e := range o.entries {
			if o.waitsFor(e, name, o.running) && !o.delays(e, name, o.Running) {
				t.Errorf("bed %s stays free, and %s could have it", name, e)
			}
		}
	}
}

func TestRules(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		entries, s := random(r)
		q := New(entries...)
		decisions := q.Decide(s)
		newOutcome(entries, s, decisions).check(t, decisions)

		// A queue with a history decides like a new one.
		shuffled := shuffled(r, entries)
		other := New()
		for _, e := range shuffled {
			changed := e
			changed.Hold, changed.Reservation = time.Second, Key{}
			changed.Beds = []string{"bed-0", "bed-1"}
			other.Set(changed)
			other.Set(Entry{Key: Key{"team", "passing"}, Beds: e.Beds})
		}
		other.Remove(Key{"team", "passing"})
		for _, e := range shuffled {
			other.Set(e)
		}
		if diff := cmp.Diff(decisions, other.Decide(s)); diff != "" {
			t.Errorf("the same queue, made in another way, decides differently (-want +got):\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v\n%+v\ndecisions %+v", seed, entries, s, decisions)
		}
	}
}

// BenchmarkDecide is one decision in a full lab, in which one bed became free.
func BenchmarkDecide(b *testing.B) {
	q, s := lab(15_000, 200, 40)
	s.Beds["bed-100"] = free("bed-100")
	b.ReportAllocs()
	for b.Loop() {
		if n := len(q.Decide(s)); n != 1 {
			b.Fatalf("%d decisions", n)
		}
	}
}

// BenchmarkChange is one entry that leaves a full queue, and one that joins it.
func BenchmarkChange(b *testing.B) {
	q, _ := lab(15_000, 200, 40)
	e := q.Entries()[7_500]
	b.ReportAllocs()
	for b.Loop() {
		q.Remove(e.Key)
		q.Set(e)
	}
}

// lab is a full lab: entries of several namespaces, each of which may use another
// three quarters of the beds.
func lab(entries, beds, namespaces int) (*Queue, Snapshot) {
	s := Snapshot{Beds: map[string]Bed{}}
	var names []string
	for i := range beds {
		names = append(names, fmt.Sprintf("bed-%03d", i))
		s.Beds[names[i]] = leased(names[i])
	}
	q := New()
	for i := range entries {
		e := entry(fmt.Sprintf("e-%05d", i), int32(i%3), i)
		e.Namespace = fmt.Sprintf("team-%02d", i%namespaces)
		for j, name := range names {
			if (j+i%namespaces)%4 > 0 {
				e.Beds = append(e.Beds, name)
			}
		}
		q.Set(e)
	}
	return q, s
}
