package method

import (
	"context"
	"errors"

	"nodrop.dev/nodrop/internal/traffic"
)

// maxInterruptions is the number of times that a workload begins again.
const maxInterruptions = 2

// uninterrupted runs a workload, and runs it again if the agent that has the hosts restarted or was not reached: its counts
// are gone.
func uninterrupted[Answer any](ctx context.Context, run func() (Answer, error)) (found Answer, err error) {
	for range 1 + maxInterruptions {
		found, err = run()
		if ctx.Err() != nil || !errors.Is(err, traffic.ErrInterrupted) {
			break
		}
	}
	return found, err
}
