package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Attempts is the number of times that a trial is begun before a failing generator ends the
// run.
const Attempts = 3

// pauses between the attempts: a container that was killed is started again at
// once, the second time after about ten seconds.
var pauses = [Attempts - 1]time.Duration{2 * time.Second, 15 * time.Second}

// Trial runs one trial at ppm parts per million of line rate. When the tester
// only just fell short of the load, or may have lost the frames itself, when one of its
// links was disturbed, or when others used its processors while frames were lost, the
// trial is void and run once more: such a moment says nothing about the device. Acts
// contains the other actions of the trial.
func (t *Tester) Trial(ctx context.Context, step plan.Step, ppm int64, d time.Duration, bracket search.Bracket, acts ...Action) (*Trial, error) {
	return t.At(ctx, step, plan.Share(ppm), d, bracket, acts...)
}

// At is Trial at a load that may be a rate.
func (t *Tester) At(ctx context.Context, step plan.Step, load plan.Amount, d time.Duration, bracket search.Bracket, acts ...Action) (*Trial, error) {
	loads, err := t.Plan.At(step.Size).Loads(load)
	if err != nil {
		return nil, err
	}
	ppm := t.Plan.At(step.Size).PPM(load)
	event := Event{Step: step, LoadPPM: ppm, Duration: d, Bracket: bracket}
	exact, tolerance := LateTolerance(d), max(LateTolerance(d), t.lateness)
	if step.Search.ResolutionPPM > 0 {
		exact, tolerance = searchTolerance(step, ppm, d, t.lateness)
	}
	trial, err := t.Twice(ctx, event, traffic.Trial{Loads: loads, Duration: d}, tolerance, acts...)
	if err == nil {
		trial.exact = exact
		trial.Recount()
	}
	return trial, err
}

// Twice runs a trial, and runs it again when it is void.
func (t *Tester) Twice(ctx context.Context, event Event, trial traffic.Trial, tolerance time.Duration, acts ...Action) (*Trial, error) {
	finished, err := t.Once(ctx, event, trial, tolerance, acts...)
	if err != nil {
		return finished, err
	}
	if event.Repeats = finished.void(); event.Repeats != "" {
		finished.Void()
		return t.Once(ctx, event, trial, tolerance, acts...)
	}
	return finished, err
}

// Once runs one trial. If its generator failed it is run again, up to three times
// in all.
func (t *Tester) Once(ctx context.Context, event Event, trial traffic.Trial, tolerance time.Duration, acts ...Action) (*Trial, error) {
	if !t.Rested {
		if err := t.Generator.Clock().Sleep(ctx, t.Plan.Rest); err != nil {
			return nil, err
		}
	}
	if err := t.answerAgain(ctx, event, trial); err != nil {
		return nil, err
	}
	sessions, err := t.Routes.restore(ctx, event.Step.Name())
	if err == nil {
		err = t.restoreMulticast(ctx)
	}
	if err != nil {
		return nil, err
	}
	var m traffic.Measurement
	var stamps []Stamp
	if follow, wanted := t.watched.action(t.Plan, event, trial); wanted {
		acts = append(slices.Clip(acts), follow)
	}
	err = t.Persist(ctx, event, func() (err error) {
		event.Began = t.Generator.Clock().Now()
		t.Observe(event)
		m, stamps, err = t.Generator.Run(ctx, trial, t.Plan.Settle, acts...)
		return nameTrial(event, err)
	})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(acts, func(a Action) bool { return a.EndsSessions }) {
		sessions = nil
	}
	down, err := t.Routes.flapped(ctx, sessions)
	if err != nil {
		return nil, err
	}
	m.Notes = append(append(m.Notes, down...), t.Device.unroutedMulticast()...)
	t.Trials++
	t.Sent += min(m.TxTime, event.Duration)
	t.Rested = false
	event.Finished = NewTrial(t.Plan, event.Step.Size, event.LoadPPM, event.Duration, m)
	t.LostFrames += event.Finished.Lost
	event.Finished.tolerance, event.Finished.Stamps = tolerance, stamps
	event.Finished.faults.allowed = allowedBy(event.Step)
	for _, a := range acts {
		if a.finish != nil {
			a.finish(event.Finished)
		}
	}
	if !t.Learning.Introduced {
		t.stale += event.Finished.Stale
	}
	t.Learning.Introduced = false
	event.Finished.Record = t.Log.Add(event.Finished.record())
	t.Observe(event)
	return event.Finished, nil
}

// Persist calls f until it succeeds, at most three times. Between two calls the
// generator is stopped and given its streams again, since it may have forgotten
// them, and the device learns them again.
func (t *Tester) Persist(ctx context.Context, event Event, f func() error) error {
	var err error
	for i := range Attempts {
		if i > 0 {
			event.Failure = err
			t.Observe(event)
			if err := t.Generator.Clock().Sleep(ctx, pauses[i-1]); err != nil {
				return err
			}
			if err = t.prepare(ctx); err == nil {
				err = t.Learn(ctx)
			}
			if err != nil {
				t.Generator.quit(ctx)
				if final(ctx, err) {
					break
				}
				continue
			}
		}
		if err = f(); err == nil {
			return nil
		}
		t.Generator.quit(ctx)
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
	return ctx.Err() != nil || errors.Is(err, ErrNotReset) || errors.Is(err, traffic.ErrUnsupported) || errors.Is(err, traffic.ErrLost)
}

// answerAgain lets the receivers answer once more when the device would forget them
// before the end of a trial.
func (t *Tester) answerAgain(ctx context.Context, event Event, trial traffic.Trial) error {
	if !t.Learning.outdated(trial) {
		return nil
	}
	return t.Persist(ctx, event, func() error { return t.Learning.answer(ctx, t.Setup, t.Size) })
}

// restoreMulticast starts a multicast router anew that has ended, and has it forward the
// groups again. A method with groups of its own joins them again itself.
func (t *Tester) restoreMulticast(ctx context.Context) error {
	if t.Device.multicastEnded() == "" {
		return nil
	}
	if err := t.Device.Router.Restart(ctx); err != nil {
		return err
	}
	if t.Groups.own {
		return nil
	}
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("joining the groups of a router that was started anew: %w", err)
	}
	return t.Learn(ctx)
}

// Loads is the load of a step in parts per million of line rate, with what it makes of
// every stream; nil with the message when there is nothing to measure.
func (t *Tester) Loads(step plan.Step) (ppm int64, loads map[uint16]traffic.Load, message string, err error) {
	load, message, err := t.Results.Load(step)
	if err == nil && message == "" {
		loads, err = t.Plan.At(step.Size).Loads(load)
	}
	return t.Plan.At(step.Size).PPM(load), loads, message, err
}

// AtLoad runs one trial at the load of a step, in which something may happen. Where
// there is nothing to measure, the outcome has a message and no trial.
func (t *Tester) AtLoad(ctx context.Context, step plan.Step, acts ...Action) (Outcome, error) {
	load, message, err := t.Results.Load(step)
	if err != nil || message != "" {
		return Outcome{Message: message}, err
	}
	return t.Fixed(ctx, step, load, acts...)
}

// Fixed runs one trial at a load, and reports what must be said of every trial:
// that nothing came back, that the device held the tester back, or that the tester was
// the limit.
func (t *Tester) Fixed(ctx context.Context, step plan.Step, load plan.Amount, acts ...Action) (Outcome, error) {
	looks, err := stallTimes(ctx, t.Generator, t.Plan, step, load)
	if err != nil {
		return Outcome{}, err
	}
	trial, err := t.At(ctx, step, load, step.TrialDuration, search.Bracket{}, slices.Concat(acts, looks)...)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{LoadPPM: trial.LoadPPM, Trial: trial}
	if trial.Sent > 0 && trial.Received == 0 {
		out.Message = t.Silence(trial)
	}
	if trial.Unsent() && trial.Notes.HeldBack() {
		out.Message = trial.Notes.HeldBackText()
	}
	out.Limit = TestersLimit(trial)
	return out, nil
}
