package trials

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/measure/search"
)

// Outcome contains the result of a method for one step of the plan.
type Outcome struct {
	// Step that was run.
	Step plan.Step
	// LoadPPM is the intended load in parts per million of line rate; of a
	// throughput test the throughput.
	LoadPPM int64
	// FramesPerSecond is the intended load in frames/s where the streams are not those
	// of the plan; nil where they are.
	FramesPerSecond *big.Rat
	// Trial decided the outcome; nil when there was nothing to run.
	Trial *Trial
	// Bracket is the final bracket of a search.
	Bracket search.Bracket
	// Limit is the trial that stopped a search when the tester was the reason.
	Limit *Trial
	// Several reports whether the figures are of several trials, of which Limit is one.
	Several bool
	// Failed is the trial whose load is the upper bound of a search; nil when there was
	// none, or none that the device may have failed.
	Failed *Trial
	// DeviceReset reports whether the device was reset during the trial, on purpose, which
	// takes its links down.
	DeviceReset bool
	// ByTime reports whether the figures are the times at which frames arrived, and not how
	// many were lost.
	ByTime bool
	// Search summarizes the effort and the result of a search; nil for other methods.
	Search *v1alpha1.SearchSummary
	// Log contains the trials in compact form; nil if there were none.
	Log *v1alpha1.TrialLog
	// Trials that were run, and Elapsed the time they took.
	Trials  int
	Elapsed time.Duration
	// Stale frames arrived during the trials after their own trial had been read, which
	// had waited so long as Settle says.
	Stale  uint64
	Settle time.Duration
	// Message explains an unusual outcome.
	Message string
	// Doubt explains how a pause of the tester, or frames that it lost, may be a part of the
	// figures; empty if they are not.
	Doubt string
	// Coarse explains why figures are coarser than a reader expects; empty if they are not.
	Coarse string
	// Invalid describes the expected event that did not happen; empty if it did.
	Invalid string
	// Fill puts what only this method measures into the result row; may be nil.
	Fill func(*v1alpha1.ResultRow)
	// Skipped reports whether the step was not needed, and makes no row.
	Skipped bool
}

// Func runs one step.
type Func func(ctx context.Context, tester *Tester, step plan.Step) (Outcome, error)

// Run runs a step by the definition of its method. It takes care of the streams of the plan, so that a
// method only runs trials; a method with a topology of its own brings its streams.
func Run(ctx context.Context, d Definition, tester *Tester, step plan.Step) (Outcome, error) {
	started, before, stale := tester.Generator.Clock().Now(), tester.Trials, tester.stale
	tester.Log = &record.Log{}
	if d.OwnGroups {
		if err := tester.Groups.lend(ctx, string(step.Method)); err != nil {
			return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
		}
	}
	if err := tester.prepareRoutes(ctx, d); err != nil {
		return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
	}
	if d.Topology == nil && !d.OwnRoutes && !d.OwnSessions && !d.Workload {
		if err := tester.Configure(ctx, step); err != nil {
			return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
		}
	}
	out, err := d.Run(ctx, tester, step)
	if d.OwnRoutes || d.OwnSessions {
		tester.Routes.open = false // The device forgets the routes when sessions are opened anew.
	}
	if d.OwnGroups {
		tester.configured = nil // The next step is configured again, with its own memberships.
		err = errors.Join(err, tester.Groups.takeBack(ctx, GroupsOf(tester.Plan.Streams)))
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("running %s: %w", step.Name(), err)
	}
	if out.Message == "" {
		out.Message = tester.Routes.notLearnt()
	}
	out.Message = tester.Learning.withUnheard(out)
	out.Step, out.Trials, out.Elapsed = step, tester.Trials-before, tester.Generator.Clock().Now().Sub(started)
	out.Stale, out.Settle = tester.stale-stale, tester.Plan.Settle
	return out, out.keepLog(tester.Log)
}

// keepLog keeps the trials of the row in compact form. It marks those that decided the row, and
// adds what the row prints of them.
func (out *Outcome) keepLog(log *record.Log) (err error) {
	trial, limit := out.Trial, out.Limit
	for _, t := range []*Trial{trial, limit} {
		if t != nil && t.Record != nil {
			log.Copy(t.Record)
		}
	}
	for _, r := range log.Since(0) { // A trial of another row may have decided that one.
		r.Decides, r.Limits = trial != nil && trial.Record == r, limit != nil && limit.Record == r
	}
	if trial != nil && trial.Record != nil {
		trial.describe()
	}
	out.Log, err = log.Compact(out.Elapsed, out.LoadPPM, out.Bracket.FailedPPM)
	return err
}

// prepareRoutes announces what the plan has, before streams are sent to it. A method with
// routes of its own begins with open sessions on which nothing is announced.
func (t *Tester) prepareRoutes(ctx context.Context, d Definition) error {
	if len(t.Plan.Announcements) == 0 || d.OwnSessions {
		return nil
	}
	if err := t.Routes.openAll(ctx, d.Member); err != nil {
		return err
	}
	if d.OwnRoutes {
		t.configured = nil // The streams have no routes now.
		return t.Routes.WithdrawAll(ctx)
	}
	return t.Routes.announceAll(ctx)
}
