package traffic

import (
	"context"
	"time"
)

// RealClock is the machine's time.
type RealClock struct{}

// Now is the current time.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep waits for d, or until ctx ends and then returns its cause.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Go runs f in a goroutine and returns the function that waits for its end.
func (RealClock) Go(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() { <-done }
}
