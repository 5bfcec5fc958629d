package sim

import (
	"context"
	"sync"
	"time"
)

// Clock is simulated time: it stands still until somebody sleeps.
type Clock struct {
	// pace is how many simulated seconds pass in a real one; 0 is without waiting.
	pace float64
	// mu guards now, since progress is reported from other goroutines.
	mu  sync.Mutex
	now time.Time
}

// Now is the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep moves the simulated time on, after the real time that the pace asks for.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.pace > 0 && d > 0 {
		timer := time.NewTimer(time.Duration(float64(d) / c.pace))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(d, 0))
	return nil
}

// Real is how long d of simulated time takes in real time.
func (c *Clock) Real(d time.Duration) time.Duration {
	if c.pace <= 0 {
		return 0
	}
	return time.Duration(float64(d) / c.pace)
}
