package method

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Lab runs single trials of the streams of its setup. A method that needs streams of
// its own gets another Lab for them (with, withStreams): both share the session, and neither
// changes the setup of the other.
type Lab struct {
	*session
	setup
}

// setup is the context of a trial.
type setup struct {
	// plan whose Streams are sent.
	plan plan.Plan
	// hops are the hardware addresses that the streams are sent to.
	hops *Neighbours
	// observe is called when a trial begins, ends or is tried again.
	observe func(Event)
}

// session contains what all labs of a run share: the generator with its state, and the
// results so far.
type session struct {
	gen traffic.Generator
	// sampler, members and reporter are the abilities of the generator beyond sending and
	// receiving; nil if it does not have them.
	sampler  traffic.Sampler
	members  traffic.GroupMember
	reporter traffic.ProgressReporter
	// watched contains the receiver of the intervals of trials; nil if there is none.
	watched *watched
	// configured is the setup whose streams the generator has, and size the size that
	// they have there; nil when they have to be given anew.
	configured *setup
	size       plan.Size
	// joined are the memberships that the ports have.
	joined []traffic.Membership
	// ownGroups reports whether the method in hand joins multicast groups itself, and
	// begins without a membership.
	ownGroups bool
	// answered is the time of the last answers of receivers that send nothing; zero if there
	// are none.
	answered time.Time
	// trials that were run, and whether none was run yet that needs a rest.
	trials int
	rested bool
	// sent is the total sending time of the trials that had a duration.
	sent time.Duration
	// stale frames that arrived after their own trial had been read. Where the last
	// frames were those that introduced the streams, which the device may hold until it
	// knows its neighbours, stale ones say nothing.
	stale      uint64
	introduced bool
	// unheard describes the multicast groups that did not reach all ports before the trials;
	// empty if all did.
	unheard string

	// found throughput, in parts per million of line rate.
	found map[found]int64
	// rows that are finished, in their order.
	rows []v1alpha1.ResultRow
	// hints of what the device can do, from outside of the benchmark.
	hints []search.Hint
	// partial drop rates that the search of a throughput found beside it.
	partial map[partial]Outcome
	routes
	// device that can be reset; nil when there is none.
	device Resetter
	// lateness of the engine: how much later than asked for it may end a trial.
	lateness time.Duration
}

type found struct {
	test string
	size plan.Size
}

// NewLab makes a lab. Observe is called when a trial begins, ends or is tried
// again; it may be nil.
func NewLab(gen traffic.Generator, p plan.Plan, hops *Neighbours, observe func(Event), opts ...Option) *Lab {
	if observe == nil {
		observe = func(Event) {}
	}
	l := &Lab{
		session: &session{gen: gen, rested: true, found: map[found]int64{}, partial: map[partial]Outcome{}},
		setup:   setup{plan: p, hops: hops, observe: observe},
	}
	l.sampler, _ = traffic.As[traffic.Sampler](gen)
	l.members, _ = traffic.As[traffic.GroupMember](gen)
	l.reporter, _ = traffic.As[traffic.ProgressReporter](gen)
	for _, o := range opts {
		o(l)
	}
	return l
}

// sending is a lab of the same session that sends other streams.
func (l *Lab) sending(streams []plan.Stream, hops *Neighbours) *Lab {
	other := &Lab{session: l.session, setup: l.setup}
	other.plan.Streams, other.hops = streams, hops
	return other
}

// with calls f with a lab whose streams are others between the same ports. Next
// are their hardware addresses by stream ID. Afterwards the generator has the streams
// of l again.
func (l *Lab) with(ctx context.Context, step plan.Step, streams []plan.Stream, next map[uint16]traffic.MAC, f func(*Lab) error) error {
	other := l.sending(streams, &Neighbours{Sources: l.hops.Sources, NextHops: next, Unresolved: l.hops.Unresolved})
	if err := other.configure(ctx, step); err != nil {
		return err
	}
	if err := f(other); err != nil {
		return err
	}
	return l.configure(ctx, step)
}

// answerTime is the time within which a neighbor on a topology of a method's own must
// answer.
const answerTime = 2 * time.Second

// withStreams calls f with a lab whose streams are these alone, between any ports of the
// bed. Unlike those of with, the device has not learnt them: f lets it, by learn,
// where that is not what the method is about. The step after it gets the streams of
// the plan again.
func (l *Lab) withStreams(ctx context.Context, step plan.Step, streams []plan.Stream, f func(*Lab) error) error {
	info, err := l.gen.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking the generator for its ports: %w", err)
	}
	other := l.sending(streams, nil)
	if other.hops, err = Resolve(ctx, l.gen, other.plan, info, answerTime); err != nil {
		return err
	}
	l.configured, l.size, l.answered = &other.setup, step.Size, time.Time{}
	if err := other.persist(ctx, Event{Step: step}, func() error { return other.configureStreams(ctx) }); err != nil {
		return err
	}
	return f(other)
}

// partial names a partial drop rate.
type partial struct {
	test         string
	size         plan.Size
	lossRatioPPM int64
}
