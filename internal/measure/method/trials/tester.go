package trials

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// Tester runs single trials of the streams of its setup. A method that needs streams of
// its own gets another Tester for them (With, WithStreams): both share the session, and neither
// changes the setup of the other.
type Tester struct {
	*Session
	Setup
}

// Session contains what all testers of a run share: the parts that know the generator, the
// device and the results, and the state of the trials.
type Session struct {
	Generator *Generator
	Device    *Device
	Results   *Results
	Groups    *Groups
	Routes    *Routes
	Learning  *Learning
	// Workload runs applications of hosts on the ports; nil if there is no such engine.
	Workload workload.Engine
	// Log contains the trials of the current row.
	Log *record.Log
	// watched reports the intervals of trials; nil if they are not requested.
	watched *watched
	// configured is the setup whose streams the generator has, and size the size that
	// they have there; nil when they have to be given anew.
	configured *Setup
	Size       plan.Size
	// Trials that were run, and whether none was run yet that needs a rest.
	Trials int
	Rested bool
	// Sent is the total sending time of the trials that had a duration.
	Sent time.Duration
	// LostFrames is the number of frames that were lost in the finished trials.
	LostFrames uint64
	// stale frames that arrived after their own trial had been read.
	stale uint64
	// lateness of the engine: how much later than asked for it may end a trial.
	lateness time.Duration
}

// NewTester makes a tester. Observe is called when a trial begins, ends or is tried
// again; it may be nil.
func NewTester(gen traffic.Generator, p plan.Plan, hops *Neighbours, observe func(Event), opts ...Option) *Tester {
	if observe == nil {
		observe = func(Event) {}
	}
	g := newGenerator(gen, p.Engine)
	device := &Device{generator: g, routesMulticast: p.RoutesMulticast}
	t := &Tester{
		Session: &Session{
			Generator: g, Device: device, Results: newResults(p), Groups: newGroups(g, p.Ports),
			Routes: &Routes{generator: g, device: device, plan: p}, Learning: &Learning{generator: g}, Log: &record.Log{}, Rested: true,
		},
		Setup: Setup{Plan: p, Hops: hops, Observe: observe},
	}
	for _, o := range opts {
		o(t)
	}
	return t
}

// Configure gives the generator the streams of a step, and lets the device learn
// them.
func (t *Tester) Configure(ctx context.Context, step plan.Step) error {
	if t.configured == &t.Setup && t.Size == step.Size {
		return nil
	}
	t.configured, t.Size = &t.Setup, step.Size
	err := t.Persist(ctx, Event{Step: step}, func() error { return t.prepare(ctx) })
	if err == nil {
		err = t.Persist(ctx, Event{Step: step}, func() error { return t.Learn(ctx) })
	}
	if err != nil {
		t.configured = nil
	}
	return err
}

// ConfigureStreams configures the generator with the tester's streams.
func (t *Tester) ConfigureStreams(ctx context.Context) error {
	return t.Generator.configure(ctx, t.traffic(t.Size))
}

// prepare gives the generator the streams, and joins the groups that they are sent
// to.
func (t *Tester) prepare(ctx context.Context) error {
	if err := t.ConfigureStreams(ctx); err != nil {
		return err
	}
	return t.Groups.become(ctx, t.Plan.Memberships())
}

// Learn lets the device find out where addresses are, before any trial. A method that joins
// the groups itself is not learnt for: no port is a member yet.
func (t *Tester) Learn(ctx context.Context) error {
	t.Learning.Unheard = ""
	if t.Groups.own {
		return nil
	}
	return t.Learning.learn(ctx, t.Setup, t.Size)
}

// Introduce sends a few frames of streams of the tester, and waits for them to come back.
func (t *Tester) Introduce(ctx context.Context, streams []plan.Stream) error {
	return t.Learning.introduce(ctx, t.Plan, t.Size, streams)
}

// With calls f with a tester whose streams are others between the same ports. Next
// are their hardware addresses by stream ID. Afterwards the generator has the streams
// of t again.
func (t *Tester) With(ctx context.Context, step plan.Step, streams []plan.Stream, next map[uint16]traffic.MAC, f func(*Tester) error) error {
	hops := &Neighbours{Sources: t.Hops.Sources, NextHops: next, Unresolved: t.Hops.Unresolved}
	other := &Tester{Session: t.Session, Setup: t.with(streams, hops)}
	if err := other.Configure(ctx, step); err != nil {
		return err
	}
	if err := f(other); err != nil {
		return err
	}
	return t.Configure(ctx, step)
}

// answerTime is the time within which a neighbor on a topology of a method's own must
// answer.
const answerTime = 2 * time.Second

// WithStreams calls f with a tester whose streams are these alone, between any ports of the
// bed. Unlike the streams of With, the device has not learnt them: f calls Learn, unless the method
// is about learning. The step after it gets the streams of
// the plan again.
func (t *Tester) WithStreams(ctx context.Context, step plan.Step, streams []plan.Stream, f func(*Tester) error) error {
	info, err := t.Generator.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking the generator for its ports: %w", err)
	}
	other := &Tester{Session: t.Session, Setup: t.with(streams, nil)}
	if other.Hops, err = Resolve(ctx, t.Generator, other.Plan, info, answerTime); err != nil {
		return err
	}
	t.configured, t.Size, t.Learning.answered = &other.Setup, step.Size, time.Time{}
	if err := other.Persist(ctx, Event{Step: step}, func() error { return other.ConfigureStreams(ctx) }); err != nil {
		return err
	}
	return f(other)
}

// Close gives back what the tester holds at the device: the memberships of its
// ports. It does so also after the run was cancelled.
func (t *Tester) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return t.Groups.end(ctx)
}

// Event contains the progress of a tester.
type Event struct {
	// Step in hand.
	Step plan.Step
	// LoadPPM and Duration of the trial in hand; 0 while no trial runs.
	LoadPPM  int64
	Duration time.Duration
	// Began is the time at which the current trial began, by the clock of the generator.
	Began time.Time
	// Bracket of the search so far; empty for other methods.
	Bracket search.Bracket
	// Finished is the trial that just ended, nil when one begins.
	Finished *Trial
	// Failure is the reason why the trial is tried again, nil otherwise.
	Failure error
	// Repeats is the reason why the trial before, which this one repeats, is no result of
	// the device; empty for a trial that repeats none.
	Repeats string
	// Ask is the task of a person now, while the trial runs; empty otherwise.
	Ask string
}

// Option changes a Tester.
type Option func(*Tester)

// WithPowerSwitch gives the tester a switch of the power of the device.
func WithPowerSwitch(s PowerSwitch) Option { return func(t *Tester) { t.Device.Power = s } }

// WithResets gives the tester the resets of the device that its bed describes.
func WithResets(resets NamedResets, described []v1alpha1.DeviceReset) Option {
	return func(t *Tester) { t.Device.Resets, t.Device.Described = resets, described }
}

// WithRestore restores the configuration of the device after it was reset.
func WithRestore(restore Restore) Option { return func(t *Tester) { t.Device.Restore = restore } }

// WithScaler gives the tester the lists of the device that its bed describes.
func WithScaler(s Scaler, described []v1alpha1.DeviceScale) Option {
	return func(t *Tester) { t.Device.Scaler, t.Device.Scales = s, described }
}

// WithDevice gives the tester a device that it can reset.
func WithDevice(d Resetter) Option { return func(t *Tester) { t.Device.Resetter = d } }

// WithRouter lets the tester start the routing software of the device anew, once it has ended
// by itself or its table is full.
func WithRouter(r Router) Option { return func(t *Tester) { t.Device.Router = r } }

// WithSpeaker gives the tester its sessions with the device. Open gets them without
// passwords, which the speaker has from elsewhere.
func WithSpeaker(s routing.Speaker) Option { return func(t *Tester) { t.Routes.Speaker = s } }

// WithWorkload gives the tester an engine of applications.
func WithWorkload(e workload.Engine) Option { return func(t *Tester) { t.Workload = e } }

// WithDrops lets the tester read what the device dropped.
func WithDrops(d DropCounter) Option { return func(t *Tester) { t.Device.Drops = d } }

// WithLateness sets by how much the engine may end a trial later than asked for by itself,
// according to its capabilities.
func WithLateness(d time.Duration) Option { return func(t *Tester) { t.lateness = d } }

// WithIntervals calls show with every interval of the trials that the tester runs, while
// they run. An engine that cannot sample has none; caps says what it counts. An interval whose
// samples fail is missing: the next one is longer, and the trial is not affected. A slow show
// makes intervals longer, too. Show is called by a goroutine of the trial, and not after the
// trial has ended.
func WithIntervals(every time.Duration, caps traffic.Capabilities, show func(Interval)) Option {
	return func(t *Tester) {
		t.watched = &watched{generator: t.Generator, device: t.Device, every: every, show: show, caps: caps}
	}
}
