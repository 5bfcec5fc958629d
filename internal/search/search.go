package search

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Config bounds a search. Loads are in parts per million of line rate.
type Config struct {
	// MinPPM and MaxPPM are the lowest and highest load that is tried, at least 1.
	MinPPM, MaxPPM int64
	// ResolutionPPM is the width of the bracket at which the search ends, at least 1.
	ResolutionPPM int64
	// TrialDuration is the length of the trial that confirms the result.
	TrialDuration time.Duration
	// SearchTrialDuration is the length of the trials before it; not longer.
	SearchTrialDuration time.Duration
}

// Validate reports settings with which no search can end.
func (c Config) Validate() error {
	switch {
	case c.MinPPM < 1 || c.MaxPPM < c.MinPPM:
		return fmt.Errorf("search bounds are %d to %d ppm: give a lowest load of at least 1 ppm and a highest that is not below it", c.MinPPM, c.MaxPPM)
	case c.ResolutionPPM < 1:
		return fmt.Errorf("search resolution is %d ppm: give at least 1 ppm", c.ResolutionPPM)
	case c.SearchTrialDuration <= 0 || c.TrialDuration < c.SearchTrialDuration:
		return errors.New("the trials of the search must be longer than 0 and not longer than the confirmation")
	}
	return nil
}

// Verdict is what one trial says about one load.
type Verdict struct {
	// Passed says that the whole intended load left the tester and no frame of it
	// was lost.
	Passed bool
	// GeneratorBound says that the tester was the reason for not passing: it sent
	// less than intended, or lost frames itself.
	GeneratorBound bool
	// NothingReceived says that not one frame came back. The lowest load is tried
	// next: a device that forwards nothing needs no search.
	NothingReceived bool
}

// Measurer runs one trial at a load for a duration.
type Measurer interface {
	Measure(ctx context.Context, loadPPM int64, duration time.Duration) (Verdict, error)
}

// Trial is one trial of a search.
type Trial struct {
	LoadPPM  int64
	Duration time.Duration
	Verdict  Verdict
}

// Bracket is what a search knows so far.
type Bracket struct {
	// PassedPPM is the highest load that passed, 0 when none did yet.
	PassedPPM int64
	// FailedPPM is the lowest load above PassedPPM that did not pass, 0 when none
	// failed yet.
	FailedPPM int64
}

// Result is what a search found.
type Result struct {
	Bracket
	// GeneratorBound says that the tester was the limit: the load at
	// Bracket.FailedPPM did not pass because of the tester.
	GeneratorBound bool
	// Deciding is the index in Trials of the trial that decided the result: the
	// passed one of full length, or the one at the lowest load when none passed.
	Deciding int
	// Trials in the order in which they ran.
	Trials []Trial
}

// ThroughputPPM is the throughput: the highest load that passed a trial of full
// length, 0 when the lowest load did not pass.
func (r Result) ThroughputPPM() int64 { return r.PassedPPM }

// Func searches the throughput. On an error of the Measurer the result holds the
// trials that ran.
type Func func(ctx context.Context, cfg Config, m Measurer) (Result, error)
