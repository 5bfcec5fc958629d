package trials

import (
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

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
