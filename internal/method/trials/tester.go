package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Attempts is the number of times that a trial is begun before a failing generator ends the
// run.
const Attempts = 3

// pauses between the attempts: a container that was killed is started again at
// once, the second time after about ten seconds.
var pauses = [Attempts - 1]time.Duration{2 * time.Second, 15 * time.Second}

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

// SetThroughput sets the throughput that a throughput test found at a frame size, in parts
// per million of line rate, for tests that build on it.
func (l *Tester) SetThroughput(test string, size plan.Size, ppm int64) {
	l.Found[Found{test, size}] = ppm
}

// AddHints adds assumptions about the device, for searches that begin there.
func (l *Tester) AddHints(hints ...search.Hint) { l.Hints = append(l.Hints, hints...) }

// Trial runs one trial at ppm parts per million of line rate. When the tester
// only just fell short of the load, or may have lost the frames itself, when one of its
// links was disturbed, or when others used its processors while frames were lost, the
// trial is void and run once more: such a moment says nothing about the device. Acts are
// what happens in it besides sending.
func (l *Tester) Trial(ctx context.Context, step plan.Step, ppm int64, d time.Duration, bracket search.Bracket, acts ...Action) (*Trial, error) {
	return l.At(ctx, step, plan.Share(ppm), d, bracket, acts...)
}

// At is Trial at a load that may be a rate.
func (l *Tester) At(ctx context.Context, step plan.Step, load plan.Amount, d time.Duration, bracket search.Bracket, acts ...Action) (*Trial, error) {
	loads, err := l.Plan.At(step.Size).Loads(load)
	if err != nil {
		return nil, err
	}
	ppm := l.Plan.At(step.Size).PPM(load)
	event := Event{Step: step, LoadPPM: ppm, Duration: d, Bracket: bracket}
	exact, tolerance := LateTolerance(d), max(LateTolerance(d), l.Lateness)
	if step.Search.ResolutionPPM > 0 {
		exact, tolerance = l.SearchTolerance(step, ppm, d)
	}
	t, err := l.Twice(ctx, event, traffic.Trial{Loads: loads, Duration: d}, tolerance, acts...)
	if err == nil {
		t.exact = exact
	}
	return t, err
}

// Twice runs a trial, and runs it again when it is void.
func (l *Tester) Twice(ctx context.Context, event Event, trial traffic.Trial, tolerance time.Duration, acts ...Action) (*Trial, error) {
	t, err := l.Once(ctx, event, trial, tolerance, acts...)
	if err != nil {
		return t, err
	}
	if event.Repeats = t.Void(); event.Repeats != "" {
		return l.Once(ctx, event, trial, tolerance, acts...)
	}
	return t, err
}

// Once runs one trial. If its generator failed it is run again, up to three times
// in all.
func (l *Tester) Once(ctx context.Context, event Event, trial traffic.Trial, tolerance time.Duration, acts ...Action) (*Trial, error) {
	if !l.Rested {
		if err := l.Generator.Clock().Sleep(ctx, l.Plan.Rest); err != nil {
			return nil, err
		}
	}
	if err := l.answerAgain(ctx, event, trial); err != nil {
		return nil, err
	}
	sessions, err := l.restoreRoutes(ctx, event.Step.Name())
	if err == nil {
		err = l.restoreMulticast(ctx)
	}
	if err != nil {
		return nil, err
	}
	var m traffic.Measurement
	var stamps []Stamp
	if follow, wanted := l.intervals(event, trial); wanted {
		acts = append(slices.Clip(acts), follow)
	}
	err = l.Persist(ctx, event, func() (err error) {
		event.Began = l.Generator.Clock().Now()
		l.Observe(event)
		m, stamps, err = l.Run(ctx, trial, l.Plan.Settle, acts...)
		return nameTrial(event, err)
	})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(acts, func(a Action) bool { return a.EndsSessions }) {
		sessions = nil
	}
	down, err := l.flapped(ctx, sessions)
	if err != nil {
		return nil, err
	}
	m.Notes = append(append(m.Notes, down...), l.unroutedMulticast()...)
	l.Trials++
	l.Sent += min(m.TxTime, event.Duration)
	l.Rested = false
	event.Finished = NewTrial(l.Plan, event.Step.Size, event.LoadPPM, event.Duration, m)
	event.Finished.tolerance, event.Finished.Stamps = tolerance, stamps
	event.Finished.Allowed = allowedBy(event.Step)
	for _, a := range acts {
		if a.finish != nil {
			a.finish(event.Finished)
		}
	}
	if !l.Introduced {
		l.stale += event.Finished.Stale
	}
	l.Introduced = false
	l.Observe(event)
	return event.Finished, nil
}

// Run is the trial itself: start, hold, stop, settle, read. It also returns when the
// events of the trial happened.
func (l *Tester) Run(ctx context.Context, trial traffic.Trial, settle time.Duration, acts ...Action) (traffic.Measurement, []Stamp, error) {
	var none traffic.Measurement
	for _, a := range acts {
		if err := a.begin(ctx); err != nil {
			return none, nil, err
		}
	}
	err := l.Within(ctx, 0, "the beginning of sending", func(ctx context.Context) error { return l.Generator.Start(ctx, trial) })
	if err != nil {
		return none, nil, fmt.Errorf("starting to send: %w", err)
	}
	stamps, err := l.hold(ctx, trial, settle, acts)
	if err != nil {
		return none, nil, err
	}
	var m traffic.Measurement
	err = l.Within(ctx, 0, "the reading of counters", func(ctx context.Context) (err error) {
		m, err = l.Generator.Read(ctx)
		return err
	})
	if err != nil {
		return none, nil, fmt.Errorf("reading counters: %w", err)
	}
	return m, stamps, nil
}

// Persist calls f until it succeeds, at most three times. Between two calls the
// generator is stopped and given its streams again, since it may have forgotten
// them, and the device learns them again.
func (l *Tester) Persist(ctx context.Context, event Event, f func() error) error {
	var err error
	for i := range Attempts {
		if i > 0 {
			event.Failure = err
			l.Observe(event)
			if err := l.Generator.Clock().Sleep(ctx, pauses[i-1]); err != nil {
				return err
			}
			if err = l.prepare(ctx); err == nil {
				err = l.Learn(ctx)
			}
			if err != nil {
				l.stop(ctx)
				if final(ctx, err) {
					break
				}
				continue
			}
		}
		if err = f(); err == nil {
			return nil
		}
		l.stop(ctx)
		if final(ctx, err) {
			break
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if final(ctx, err) {
		return err
	}
	return fmt.Errorf("the generator failed %d times: %w", Attempts, err)
}

// final reports whether trying again does not help.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, traffic.ErrUnsupported) || errors.Is(err, traffic.ErrLost)
}

// stop ends sending, also after the run was cancelled.
func (l *Tester) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	// What called stop failed already, and its error is the one to tell.
	_ = l.Generator.Stop(ctx)
}

func (l *Tester) streams() []traffic.Stream {
	return l.Plan.At(l.Size).Traffic(l.Hops.Sources, l.Hops.NextHops)
}

// Percent writes a load for a person.
func Percent(ppm int64) string { return string(v1alpha1.FormatPPM(ppm)) }
