package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// Generator is the traffic generator of a run. It calls the generator within time limits, and
// runs single trials with their actions.
type Generator struct {
	traffic.Generator
	// Sampler and reporter are abilities of the generator beyond sending and receiving; nil
	// if it does not have them.
	Sampler  traffic.Sampler
	reporter traffic.ProgressReporter
	// Microflows counts each microflow; nil if the generator counts streams only.
	Microflows traffic.MicroflowCounter
	// tracks reports whether the profile asks for counts of microflows. A method that asks for
	// times reads the records itself.
	tracks bool
	// engine names the generator in errors.
	engine v1alpha1.EngineKind
}

func newGenerator(gen traffic.Generator, engine v1alpha1.EngineKind) *Generator {
	g := &Generator{Generator: gen, engine: engine}
	g.Sampler, _ = traffic.As[traffic.Sampler](gen)
	g.reporter, _ = traffic.As[traffic.ProgressReporter](gen)
	g.Microflows, _ = traffic.As[traffic.MicroflowCounter](gen)
	return g
}

// lacks returns the error of a generator without an ability that something needs.
func (g *Generator) lacks(ability, needs string) error {
	return &traffic.MissingError{Engine: string(g.engine), Cannot: ability, Needs: needs}
}

// within calls f of the generator, which should take d, and gives it up some time
// after. The limit is one of real time: a generator that hangs does not move any
// other.
func (g *Generator) within(ctx context.Context, d time.Duration, awaited string, f func(context.Context) error) error {
	if c, ok := g.Clock().(paced); ok {
		d = c.Real(d)
	}
	unanswered := &UnansweredError{Awaited: awaited, After: d + Grace}
	limited, cancel := context.WithTimeoutCause(ctx, unanswered.After, unanswered)
	defer cancel()
	err := f(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return unanswered // whatever the generator made of the end of its context
	}
	return err
}

// configure configures the generator with streams.
func (g *Generator) configure(ctx context.Context, streams []traffic.Stream) error {
	g.tracks = slices.ContainsFunc(streams, func(s traffic.Stream) bool { return s.Track == traffic.TrackCounts })
	return g.within(ctx, 0, "the taking over of streams", func(ctx context.Context) error { return g.Configure(ctx, streams) })
}

// Run is the trial itself: start, hold, stop, settle, read. It also returns when the
// events of the trial happened.
func (g *Generator) Run(ctx context.Context, trial traffic.Trial, settle time.Duration, acts ...Action) (traffic.Measurement, []Stamp, error) {
	var none traffic.Measurement
	for _, a := range acts {
		if err := a.begin(ctx); err != nil {
			return none, nil, err
		}
	}
	err := g.within(ctx, 0, "the beginning of sending", func(ctx context.Context) error { return g.Start(ctx, trial) })
	if err != nil {
		return none, nil, fmt.Errorf("starting to send: %w", err)
	}
	stamps, err := g.hold(ctx, trial, settle, acts)
	if err != nil {
		return none, nil, err
	}
	var m traffic.Measurement
	err = g.within(ctx, 0, "the reading of counters", func(ctx context.Context) (err error) {
		if m, err = g.Read(ctx); err == nil {
			m.Microflows, err = g.sumMicroflows(ctx, m.Tx)
		}
		return err
	})
	if err != nil {
		return none, nil, fmt.Errorf("reading counters: %w", err)
	}
	return m, stamps, nil
}

// sumMicroflows returns the sums of the streams that are counted by microflows; nil for none.
func (g *Generator) sumMicroflows(ctx context.Context, sent map[uint16]traffic.TxCount) ([]traffic.MicroflowSum, error) {
	if !g.tracks {
		return nil, nil
	}
	if g.Microflows == nil {
		return nil, g.lacks("count microflows", "trackMicroflows")
	}
	return g.Microflows.SumMicroflows(ctx, sent, v1alpha1.MaxBadMicroflows)
}

// hold waits while the generator sends, lets the actions happen meanwhile, and then
// lets frames settle. It returns when the events happened. The first event that fails
// ends the trial.
func (g *Generator) hold(ctx context.Context, trial traffic.Trial, settle time.Duration, acts []Action) ([]Stamp, error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	clock := g.Clock()
	begin := clock.Now()
	var events, others []func()
	stamps := make([]*Stamp, len(acts))
	for i, a := range acts {
		if a.does != nil {
			events = append(events, clock.Go(func() {
				s, err := a.happen(ctx, clock, begin)
				if err != nil {
					abort(err)
				}
				stamps[i] = &s
			}))
		}
		if a.alongside != nil {
			others = append(others, clock.Go(func() { a.alongside(ctx, stop) }))
		}
	}
	defer func() {
		abort(nil)
		for _, wait := range others {
			wait()
		}
	}()
	err := g.within(waiting, SendingTime(trial)+settle, "the end of sending", g.Wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		err = g.within(ctx, 0, "the end of sending", g.Stop)
	}
	if err != nil {
		abort(fmt.Errorf("waiting for the end of sending: %w", err))
	}
	// An event that does not end must not hold up the run for ever.
	overdue := time.AfterFunc(Grace, func() { abort(&OverdueError{Events: kindsOf(acts), After: Grace}) })
	for _, wait := range events {
		wait()
	}
	overdue.Stop()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, a := range acts {
		if a.failed != nil && a.failed.Load() != nil {
			return nil, *a.failed.Load()
		}
	}
	var happened []Stamp
	for _, s := range stamps {
		if s != nil {
			happened = append(happened, *s)
		}
	}
	return happened, g.settle(ctx, settle, acts)
}

// settle waits until the counters can be read.
func (g *Generator) settle(ctx context.Context, settle time.Duration, acts []Action) error {
	for _, a := range acts {
		if a.settled != nil {
			return a.settled(ctx)
		}
	}
	return g.Sleep(ctx, settle)
}

// Sleep lets the time of the generator pass.
func (g *Generator) Sleep(ctx context.Context, d time.Duration) error {
	return g.Clock().Sleep(ctx, d)
}

// quit ends sending, also after the run was cancelled.
func (g *Generator) quit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	// What called quit failed already, and its error is the one to tell.
	_ = g.Stop(ctx)
}

// ReportsGaps reports whether the engine knows where in a stream frames were lost.
func (g *Generator) ReportsGaps(ctx context.Context) (bool, error) {
	info, err := g.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("asking the generator for what it counts: %w", err)
	}
	return info.Capabilities.Gaps, nil
}

const (
	// Grace is the time by which a call of the generator may exceed its expected duration.
	// It covers a link that is negotiated again and a new connection to an agent, both
	// within 15 s, and a busy machine.
	Grace = time.Minute
	// slowest is the rate in frames/s at which any tester sends numbered frames of
	// all ports together.
	slowest = 100_000
)

// UnansweredError reports that the generator did not answer within a generous time.
type UnansweredError struct {
	// Awaited is the expected event, such as "the end of sending".
	Awaited string
	// After is the time that was waited.
	After time.Duration
}

// Error names what was awaited, and for how long.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the generator did not answer: %s was awaited for %s", e.Awaited, e.After)
}

// paced is implemented by a clock in which time passes at another pace than in the
// real world.
type paced interface {
	// Real returns the duration of d in real time.
	Real(d time.Duration) time.Duration
}

// SendingTime bounds how long a trial sends: its duration, or what its frames take
// at the rates asked for and with a slow tester.
func SendingTime(trial traffic.Trial) time.Duration {
	if trial.Duration > 0 {
		return trial.Duration + LateTolerance(trial.Duration)
	}
	var longest time.Duration
	var frames uint64
	for _, load := range trial.Loads {
		frames += load.Frames
		if r := load.Rate; !load.Max && r.Frames > 0 {
			took := float64(load.Frames) * float64(r.PerNanos) / float64(r.Frames)
			longest = max(longest, load.Delay+time.Duration(took))
		}
	}
	return longest + time.Duration(frames/slowest)*time.Second
}

// nameTrial adds the load and the duration of the trial to an UnansweredError.
func nameTrial(e Event, err error) error {
	if unanswered := (*UnansweredError)(nil); errors.As(err, &unanswered) {
		return fmt.Errorf("trial at %s for %s: %w", Percent(e.LoadPPM), e.Duration, err)
	}
	return err
}
