package trials

import (
	"context"
	"slices"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

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
