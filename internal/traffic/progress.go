package traffic

import (
	"context"
	"time"
)

// ProgressReporter is implemented by engines that know, while a trial runs, which
// of its frames are lost and whether all of them are back. A caller may then stop a
// trial that cannot pass any more, and need not wait for frames that have arrived.
//
// A stream that Stop cut short is judged by its load up to then: Intended of the measurement
// is the number of frames that the load asked for until the trial was stopped.
type ProgressReporter interface {
	// Progress reports the trial in hand. Age is the reorder window, above 0: a frame
	// that arrives within it after frames that were sent later is not lost. The age is
	// the same in all calls of a trial. Progress fails with ErrUnsupported where the
	// engine behind an agent does not report.
	Progress(ctx context.Context, age time.Duration) (Progress, error)
}

// Progress is the balance of a trial that runs, or has just been sent.
type Progress struct {
	// Expected is the number of frames that were sent so far, each as often as it has
	// receivers. Received counts frames once per receiver, without copies.
	Expected, Received uint64
	// Lost frames, a lower bound: they are missing though frames that were sent after
	// them arrived at least the age ago, or so many frames ago that the engine would
	// not count them any more. It never falls while a trial runs.
	Lost uint64
}

// Back reports whether every frame that was sent is back.
func (p Progress) Back() bool { return p.Received >= p.Expected }
