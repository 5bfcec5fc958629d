package traffic

import (
	"context"
	"errors"
)

// ErrInterrupted says that an engine lost the trial in hand: its agent restarted,
// the connection to it broke, or the server that it drives is gone. What was counted
// is void; the caller configures the streams again and repeats the trial.
var ErrInterrupted = errors.New("the trial was interrupted")

// ErrLost says that an engine is gone and did not come back in time: the run
// cannot go on.
var ErrLost = errors.New("the agent is lost")

// Armer is implemented by engines that can be joined with engines in other
// processes. Where ports of two engines send to each other, whichever starts
// first would have its frames counted and then cleared by the start of the
// other; so all are armed before any is started.
type Armer interface {
	// Arm clears all counters and begins to count frames of trial epoch, which is
	// not 0, without sending. The Start that follows with this epoch in its Trial
	// keeps the counters.
	Arm(ctx context.Context, epoch uint16) error
}
