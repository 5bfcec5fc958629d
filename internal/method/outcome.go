package method

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
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
	// Trials that were run, and Elapsed the time they took.
	Trials  int
	Elapsed time.Duration
	// Stale frames arrived during the trials after their own trial had been read, which
	// had waited so long as Settle says.
	Stale  uint64
	Settle time.Duration
	// Message explains an unusual outcome.
	Message string
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
type Func func(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error)

// RunStep runs a step by the definition of its method. It takes care of the streams of the plan, so that a
// method only runs trials; a method with a topology of its own brings its streams.
func RunStep(ctx context.Context, d Definition, lab *Lab, step plan.Step) (Outcome, error) {
	started, before, stale := lab.gen.Clock().Now(), lab.trials, lab.stale
	if d.OwnGroups {
		if err := lab.leaveGroups(ctx, step); err != nil {
			return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
		}
	}
	if err := lab.withRoutes(ctx, d); err != nil {
		return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
	}
	if d.Topology == nil && !d.OwnRoutes && !d.OwnSessions {
		if err := lab.configure(ctx, step); err != nil {
			return Outcome{}, fmt.Errorf("preparing %s: %w", step.Name(), err)
		}
	}
	out, err := d.Run(ctx, lab, step)
	if d.OwnRoutes || d.OwnSessions {
		lab.open = false // The device forgets the routes when sessions are opened anew.
	}
	if d.OwnGroups {
		err = errors.Join(err, lab.giveGroupsBack(ctx))
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("running %s: %w", step.Name(), err)
	}
	if out.Message == "" {
		out.Message = lab.notLearnt()
	}
	out.Message = lab.withUnheard(out)
	out.Step, out.Trials, out.Elapsed = step, lab.trials-before, lab.gen.Clock().Now().Sub(started)
	out.Stale, out.Settle = lab.stale-stale, lab.plan.Settle
	return out, nil
}
