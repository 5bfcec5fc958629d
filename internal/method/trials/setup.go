package trials

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Tester runs single trials of the streams of its setup. A method that needs streams of
// its own gets another Tester for them (With, WithStreams): both share the session, and neither
// changes the setup of the other.
type Tester struct {
	*Session
	Setup
}

// Setup is the context of a trial.
type Setup struct {
	// Plan whose Streams are sent.
	Plan plan.Plan
	// Hops are the hardware addresses that the streams are sent to.
	Hops *Neighbours
	// Observe is called when a trial begins, ends or is tried again.
	Observe func(Event)
}

// Session contains what all testers of a run share: the generator with its state, and the
// results so far.
type Session struct {
	Generator traffic.Generator
	// Sampler, members and reporter are the abilities of the generator beyond sending and
	// receiving; nil if it does not have them.
	Sampler  traffic.Sampler
	members  traffic.GroupMember
	reporter traffic.ProgressReporter
	// Watched contains the receiver of the intervals of trials; nil if there is none.
	Watched *Watched
	// configured is the setup whose streams the generator has, and size the size that
	// they have there; nil when they have to be given anew.
	configured *Setup
	Size       plan.Size
	// joined are the memberships that the ports have.
	joined []traffic.Membership
	// ownGroups reports whether the method in hand joins multicast groups itself, and
	// begins without a membership.
	ownGroups bool
	// answered is the time of the last answers of receivers that send nothing; zero if there
	// are none.
	answered time.Time
	// Trials that were run, and whether none was run yet that needs a rest.
	Trials int
	Rested bool
	// Sent is the total sending time of the trials that had a duration.
	Sent time.Duration
	// stale frames that arrived after their own trial had been read. Where the last
	// frames were those that introduced the streams, which the device may hold until it
	// knows its neighbours, stale ones say nothing.
	stale      uint64
	Introduced bool
	// Unheard describes the multicast groups that did not reach all ports before the trials;
	// empty if all did.
	Unheard string

	// Found throughput, in parts per million of line rate.
	Found map[Found]int64
	// Rows that are finished, in their order.
	Rows []v1alpha1.ResultRow
	// Hints of what the device can do, from outside of the benchmark.
	Hints []search.Hint
	// Partial contains the partial drop rates that the search of a throughput also found.
	Partial map[Partial]Outcome
	routes
	// Device that can be reset; nil when there is none.
	Device Resetter
	// Lateness of the engine: how much later than asked for it may end a trial.
	Lateness time.Duration
}

// Found identifies a load that a test found: its test and the frame size.
type Found struct {
	Test string
	Size plan.Size
}

// NewTester makes a tester. Observe is called when a trial begins, ends or is tried
// again; it may be nil.
func NewTester(gen traffic.Generator, p plan.Plan, hops *Neighbours, observe func(Event), opts ...Option) *Tester {
	if observe == nil {
		observe = func(Event) {}
	}
	l := &Tester{
		Session: &Session{Generator: gen, Rested: true, Found: map[Found]int64{}, Partial: map[Partial]Outcome{}},
		Setup:   Setup{Plan: p, Hops: hops, Observe: observe},
	}
	l.Sampler, _ = traffic.As[traffic.Sampler](gen)
	l.members, _ = traffic.As[traffic.GroupMember](gen)
	l.reporter, _ = traffic.As[traffic.ProgressReporter](gen)
	for _, o := range opts {
		o(l)
	}
	return l
}

// sending is a tester of the same session that sends other streams.
func (l *Tester) sending(streams []plan.Stream, hops *Neighbours) *Tester {
	other := &Tester{Session: l.Session, Setup: l.Setup}
	other.Plan.Streams, other.Hops = streams, hops
	return other
}

// With calls f with a tester whose streams are others between the same ports. Next
// are their hardware addresses by stream ID. Afterwards the generator has the streams
// of l again.
func (l *Tester) With(ctx context.Context, step plan.Step, streams []plan.Stream, next map[uint16]traffic.MAC, f func(*Tester) error) error {
	other := l.sending(streams, &Neighbours{Sources: l.Hops.Sources, NextHops: next, Unresolved: l.Hops.Unresolved})
	if err := other.Configure(ctx, step); err != nil {
		return err
	}
	if err := f(other); err != nil {
		return err
	}
	return l.Configure(ctx, step)
}

// answerTime is the time within which a neighbor on a topology of a method's own must
// answer.
const answerTime = 2 * time.Second

// WithStreams calls f with a tester whose streams are these alone, between any ports of the
// bed. Unlike the streams of With, the device has not learnt them: f calls Learn, unless the method
// is about learning. The step after it gets the streams of
// the plan again.
func (l *Tester) WithStreams(ctx context.Context, step plan.Step, streams []plan.Stream, f func(*Tester) error) error {
	info, err := l.Generator.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking the generator for its ports: %w", err)
	}
	other := l.sending(streams, nil)
	if other.Hops, err = Resolve(ctx, l.Generator, other.Plan, info, answerTime); err != nil {
		return err
	}
	l.configured, l.Size, l.answered = &other.Setup, step.Size, time.Time{}
	if err := other.Persist(ctx, Event{Step: step}, func() error { return other.ConfigureStreams(ctx) }); err != nil {
		return err
	}
	return f(other)
}

// Partial names a partial drop rate.
type Partial struct {
	Test         string
	Size         plan.Size
	LossRatioPPM int64
}
