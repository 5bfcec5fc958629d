package controllers

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/queue"
)

// Lab is everything that places in the queue depend on, as listed at one time.
type Lab struct {
	Benchmarks []v1alpha1.Benchmark
	Beds       []v1alpha1.TestBed
	Profiles   []v1alpha1.TrafficProfile
	Namespaces []corev1.Namespace
	// DefaultPolicy of the lab; nil allows everything.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// Now is when.
	Now time.Time
}

// Place is where one benchmark waits.
type Place struct {
	// Benchmark that waits.
	Benchmark *v1alpha1.Benchmark
	// Accepted says whether it can run as things are.
	Accepted bool
	// Place is where it waits, while it is accepted.
	Place queue.Place
	// Beds that it can use.
	Beds []string
	// Why it waits, in a sentence.
	Why string
}

// Lineup returns the places of all benchmarks that wait, in the order of the queue;
// those that are not accepted come last. It is the allocator's own computation.
func Lineup(in Lab) []Place {
	a := newAllocator(base{Options: Options{
		DefaultPolicy: in.DefaultPolicy, Now: func() time.Time { return in.Now }, Deadlines: DefaultDeadlines(),
	}}, nil)
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
	a.apply(ch, time.Time{})
	for _, view := range a.beds {
		// Who may not list the reservations of others can read those of beds.
		view.reserved = publishedSlices(view.bed)
	}
	s := a.snapshot(time.Time{})
	var places []Place
	for _, w := range a.benchmarks {
		_, holds := a.holders[string(w.b.UID)]
		if !holds && waits(w.b) && isHeld(w.b) {
			places = append(places, Place{Benchmark: w.b, Why: firstOf(w.b.Status.Message, "waits to be let into the queue")})
		}
		if w.class == nil || holds {
			continue
		}
		e := a.explain(w, s)
		p := Place{Benchmark: w.b, Accepted: e.accepted, Beds: w.class.beds, Why: e.message}
		p.Place, _ = a.queue.Place(queueKey(w.b), s)
		places = append(places, p)
	}
	slices.SortFunc(places, func(x, y Place) int {
		if x.Accepted != y.Accepted {
			if x.Accepted {
				return -1
			}
			return 1
		}
		return queue.Compare(entryOf(x.Benchmark), entryOf(y.Benchmark))
	})
	return places
}

func entryOf(b *v1alpha1.Benchmark) queue.Entry {
	return queue.Entry{Key: queueKey(b), Priority: b.Spec.Priority, Created: b.CreationTimestamp.Time}
}
