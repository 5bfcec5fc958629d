package allocation

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
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
	queue.Waiting
	// Accepted reports whether it can run as things are.
	Accepted bool
	// Place is its place in the queue, while it is accepted.
	Place queue.Place
	// Beds that it can use.
	Beds []string
	// Reason why it waits, as that of a condition.
	Reason string
}

// Lineup returns the places of all benchmarks that wait, in the order of the queue;
// those that are not accepted come last. It is the allocator's own computation.
func Lineup(in LineupInput) []Place {
	_, places := lineUp(in, nil)
	return places
}

// lineUp returns the places, and the view that they were computed from. Kept may be nil.
func lineUp(in LineupInput, kept *judgments) (*view, []Place) {
	v, deadlines := viewOf(in, kept)
	explainer := explainer{view: v, deadlines: deadlines}
	s := v.snapshot(time.Time{})
	all, starts := v.line.queue.Places(s), v.forecast(s)
	places := make([]Place, 0, len(v.inventory.benchmarks))
	for _, w := range v.inventory.benchmarks {
		holds := v.inventory.holds(w.b)
		if !holds && kit.Waits(w.b) && kit.IsHeld(w.b) {
			places = append(places, Place{Waiting: queue.Waiting{Benchmark: w.b, Why: cmp.Or(w.b.Status.Message, "waits to be let into the queue")}})
		}
		if w.class == nil || holds {
			continue
		}
		place := all[queueKey(w.b)]
		e := explainer.explain(w, place, s)
		places = append(places, Place{
			Waiting:  queue.Waiting{Benchmark: w.b, Start: starts[queueKey(w.b)].At, Why: e.Message},
			Accepted: e.Accepted, Reason: e.Reason, Place: place, Beds: w.class.beds,
		})
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
		return v.teams.compare(x.Benchmark, y.Benchmark)
	})
	return v, places
}

// viewOf returns the view of a lab, with the reservations and the standings that are published
// in the status of beds and of the LabPolicy, and the deadlines of its operator. Kept may be nil.
func viewOf(in LineupInput, kept *judgments) (*view, kit.Deadlines) {
	options := kit.Options{DefaultPolicy: in.DefaultPolicy, Now: func() time.Time { return in.Now }, Deadlines: in.Deadlines}.WithDefaults()
	v := newView(options)
	if kept != nil {
		kept.lend(v.judge, &in)
	}
	ch := newChanges()
	ch.benchmarks = make(map[queue.Key]*v1alpha1.Benchmark, len(in.Benchmarks))
	v.inventory.benchmarks, v.inventory.beds = make(map[queue.Key]*waiter, len(in.Benchmarks)), make(map[string]*bedView, len(in.Beds))
	for i := range in.Namespaces {
		ch.namespace(&in.Namespaces[i], false)
	}
	for i := range in.Profiles {
		ch.profile(&in.Profiles[i], false)
	}
	for i := range in.Beds {
		ch.bed(&in.Beds[i], false)
	}
	for i := range in.Benchmarks {
		ch.benchmark(&in.Benchmarks[i], false)
	}
	if in.Policy != nil {
		ch.policy(in.Policy, false)
	}
	v.apply(ch, time.Time{})
	for _, seen := range v.inventory.beds {
		// Users without the right to list the reservations of others can read the ones in the status of beds.
		seen.reserved = publishedSlices(seen.bed)
	}
	v.shares.carry(in.Policy, in.Now)
	v.promises.keep(v.inventory, v.line.queue)
	return v, options.Deadlines
}

// Waiting returns all benchmarks without a bed, in the order of the queue. Those of Lineup come first,
// then those that are not in the queue yet.
func Waiting(in LineupInput) []queue.Waiting { return listWaiting(in, nil) }

// listWaiting does what Waiting does, with what was kept of the last call. Kept may be nil.
func listWaiting(in LineupInput, kept *judgments) []queue.Waiting {
	v, places := lineUp(in, kept)
	waiting, queued := make([]queue.Waiting, 0, len(places)), make(map[*v1alpha1.Benchmark]bool, len(places))
	if kept != nil {
		kept.keep(v.judge)
	}
	for _, p := range places {
		if p.Benchmark.Status.TestBedName == "" {
			waiting = append(waiting, p.Waiting)
			queued[p.Benchmark] = true
		}
	}
	first := len(waiting)
	for i := range in.Benchmarks {
		if b := &in.Benchmarks[i]; !b.Status.Phase.Finished() && b.Status.TestBedName == "" && !queued[b] {
			waiting = append(waiting, queue.Waiting{Benchmark: b, Why: b.Status.Message})
		}
	}
	slices.SortFunc(waiting[first:], func(x, y queue.Waiting) int { return v.teams.compare(x.Benchmark, y.Benchmark) })
	return waiting
}
