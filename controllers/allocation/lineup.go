package allocation

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/controllers/share"
)

// LineupInput is everything that places in the queue depend on, as listed at one time.
type LineupInput struct {
	Benchmarks []v1alpha1.Benchmark
	Beds       []v1alpha1.TestBed
	Profiles   []v1alpha1.TrafficProfile
	Namespaces []corev1.Namespace
	// DefaultPolicy of the lab; nil allows everything.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// Deadlines of the operator; the zero value has the defaults.
	Deadlines kit.Deadlines
	// Policy is the LabPolicy that defines how teams share beds; nil if it does not exist or
	// cannot be read.
	Policy *v1alpha1.LabPolicy
	// Now is the current time.
	Now time.Time
}

// Place is the place at which one benchmark waits.
type Place struct {
	// Benchmark that waits.
	Benchmark *v1alpha1.Benchmark
	// Accepted reports whether it can run as things are.
	Accepted bool
	// Place is its place in the queue, while it is accepted.
	Place queue.Place
	// Beds that it can use.
	Beds []string
	// Why it waits, in a sentence.
	Why string
}

// Lineup returns the places of all benchmarks that wait, in the order of the queue;
// those that are not accepted come last. It is the allocator's own computation.
func Lineup(in LineupInput) []Place {
	_, places := lineUp(in)
	return places
}

// lineUp returns the places, and the allocator that computed them.
func lineUp(in LineupInput) (*Allocator, []Place) {
	options := kit.Options{DefaultPolicy: in.DefaultPolicy, Now: func() time.Time { return in.Now }, Deadlines: in.Deadlines}
	a := New(kit.Base{Options: options.WithDefaults()}, nil)
	ch := newChanges()
	for i := range in.Namespaces {
		ch.namespaces[in.Namespaces[i].Name] = &in.Namespaces[i]
	}
	for i := range in.Profiles {
		ch.profiles[queueKey(&in.Profiles[i])] = &in.Profiles[i]
	}
	for i := range in.Beds {
		ch.beds[in.Beds[i].Name] = &in.Beds[i]
	}
	for i := range in.Benchmarks {
		if b := &in.Benchmarks[i]; !b.Status.Phase.Finished() {
			ch.benchmarks[queueKey(b)] = b
		}
	}
	if in.Policy != nil {
		ch.policies[in.Policy.Name] = in.Policy
	}
	a.apply(ch, time.Time{})
	for _, view := range a.beds {
		// Who may not list the reservations of others can read those of beds.
		view.reserved = publishedSlices(view.bed)
	}
	a.sharing = nil // Standings are those of the policy's status.
	s := a.snapshot(time.Time{})
	s.Standings = publishedStandings(in.Policy)
	all := a.queue.Places(s)
	var places []Place
	for _, w := range a.benchmarks {
		_, holds := a.holders[string(w.b.UID)]
		if !holds && kit.Waits(w.b) && kit.IsHeld(w.b) {
			places = append(places, Place{Benchmark: w.b, Why: cmp.Or(w.b.Status.Message, "waits to be let into the queue")})
		}
		if w.class == nil || holds {
			continue
		}
		place := all[queueKey(w.b)]
		e := a.explain(w, place, s)
		places = append(places, Place{Benchmark: w.b, Accepted: e.Accepted, Place: place, Beds: w.class.beds, Why: e.Message})
	}
	slices.SortFunc(places, func(x, y Place) int {
		switch {
		case x.Accepted != y.Accepted && x.Accepted:
			return -1
		case x.Accepted != y.Accepted:
			return 1
		case x.Place.Order != y.Place.Order:
			return cmp.Compare(x.Place.Order, y.Place.Order)
		}
		return a.compare(x.Benchmark, y.Benchmark)
	})
	return a, places
}

// Order returns the benchmarks that wait for a bed, in the order of the queue. Benchmarks of
// Lineup come first, then benchmarks that are not in the queue yet.
func Order(in LineupInput) []*v1alpha1.Benchmark {
	var waiting []*v1alpha1.Benchmark
	queued := map[*v1alpha1.Benchmark]bool{}
	a, places := lineUp(in)
	for _, p := range places {
		if p.Benchmark.Status.TestBedName == "" {
			waiting = append(waiting, p.Benchmark)
			queued[p.Benchmark] = true
		}
	}
	first := len(waiting)
	for i := range in.Benchmarks {
		if b := &in.Benchmarks[i]; !b.Status.Phase.Finished() && b.Status.TestBedName == "" && !queued[b] {
			waiting = append(waiting, b)
		}
	}
	slices.SortFunc(waiting[first:], a.compare)
	return waiting
}

// compare orders benchmarks by priority and age.
func (a *Allocator) compare(x, y *v1alpha1.Benchmark) int {
	return queue.Compare(queue.EntryOf(a.policy, a.namespaces, x), queue.EntryOf(a.policy, a.namespaces, y))
}

// publishedStandings returns the standings of the policy's status.
func publishedStandings(p *v1alpha1.LabPolicy) map[share.Account]queue.Standing {
	all := map[share.Account]queue.Standing{}
	if p == nil {
		return all
	}
	for _, t := range p.Status.Teams {
		for _, pool := range t.Pools {
			all[share.Account{Team: t.Name, Pool: pool.Pool}] = queue.Standing{Behind: pool.Behind.Duration, Weight: float64(t.Weight)}
		}
	}
	return all
}
