package traffic

import "context"

// Sampler is implemented by engines whose counters can be read while a trial runs.
type Sampler interface {
	// Sample calls take with the counters of the trial in hand whenever another
	// interval of it has passed, from one goroutine, and returns nil after the last
	// interval of the span. A sample whose time has passed when its turn comes is left
	// out. When counters cannot be read, Sample returns the error: samples that were
	// taken stay good, the trial is not affected, and another call goes on with the
	// next interval. Sample is called between Start and the next call of Configure,
	// Arm, Start or Close, and may run while other calls do.
	Sample(ctx context.Context, s Sampling, take func(Sample)) error
}

// GroupMember is implemented by engines whose ports can be members of multicast
// groups. Its calls may run while Wait does.
type GroupMember interface {
	// Join makes ports members of multicast groups, by IGMPv3 (RFC 3376) or MLDv2
	// (RFC 3810), until they leave or the generator closes. It returns when the
	// reports have left.
	Join(ctx context.Context, memberships []Membership) (Moments, error)
	// Leave ends memberships.
	Leave(ctx context.Context, memberships []Membership) (Moments, error)
}

// Armer is implemented by engines that can be joined with engines in other
// processes. Where ports of two engines send to each other, whichever starts
// first would have its frames counted and then cleared by the start of the
// other; so all are armed before any is started.
type Armer interface {
	// Arm clears all counters and begins to count frames of a trial, whose Epoch is not 0,
	// without sending. Its Loads include all streams of the bed, so that a receiver knows
	// what is intended. The Start that follows with this epoch in its Trial keeps the
	// counters.
	Arm(ctx context.Context, trial Trial) error
}

// Proxy is implemented by generators that pass calls on to engines elsewhere. They
// have the methods of all optional interfaces, and what these do depends on the
// engines.
type Proxy interface {
	// As sets target, a pointer to an optional interface, if all engines behind the
	// generator implement it, and reports whether they do.
	As(target any) bool
}

// As returns an optional interface of a generator, and reports whether it has it.
func As[T any](g Generator) (T, bool) {
	var found T
	if p, is := g.(Proxy); is {
		return found, p.As(&found)
	}
	found, has := g.(T)
	return found, has
}
