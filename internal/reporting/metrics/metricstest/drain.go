package metricstest

import (
	"context"
	"time"
)

// Drain runs a delivery until no points wait, or until the context ends.
func Drain(ctx context.Context, run func(context.Context), waiting func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil && waiting() > 0 {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	run(ctx)
}
