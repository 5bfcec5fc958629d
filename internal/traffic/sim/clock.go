package sim

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Clock is simulated time. It stands still while a goroutine works by it, and goes on
// to the next moment that one waits for when all of them wait. One goroutine goes on
// at a time, in the order of the moments and of the calls, so that what the engine
// does is repeatable and needs no lock.
//
// The goroutine that uses the engine works by the clock, and so do those that are
// started with Go.
type Clock struct {
	// pace is the number of simulated seconds per real second; 0 means without waiting.
	pace float64

	// mu guards what follows. Progress is reported from goroutines that do not work by
	// the clock.
	mu  sync.Mutex
	now time.Time
	// working is the number of goroutines that work by the clock and do not wait.
	working int
	// waiting contains the waiting goroutines in the order of their moments.
	waiting []*waiter
}

// waiter is a goroutine that waits for a moment.
type waiter struct {
	at time.Time
	// ctx ends the wait before its moment.
	ctx   context.Context
	ready chan struct{}
}

func newClock() *Clock { return &Clock{now: epoch, working: 1} }

// Now is the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep waits until d of simulated time has passed, or until ctx ends and then
// returns its cause.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	end := c.now.Add(max(d, 0))
	w := c.wait(ctx, end)
	c.rest()
	c.mu.Unlock()
	select {
	case <-w.ready:
		if c.Now().Before(end) {
			return context.Cause(ctx)
		}
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, w); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.working++
	}
	return context.Cause(ctx)
}

// Go runs f in a goroutine that works by the clock, once the caller waits, and
// returns the function that waits until f has returned.
func (c *Clock) Go(f func()) (wait func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := c.wait(context.Background(), c.now)
	ended := false
	var joined []*waiter
	go func() {
		<-begin.ready
		f()
		c.mu.Lock()
		defer c.mu.Unlock()
		ended = true
		for _, w := range joined {
			w.at = c.now
			c.insert(w)
		}
		c.rest()
	}()
	return func() {
		c.mu.Lock()
		if ended {
			c.mu.Unlock()
			return
		}
		w := &waiter{ctx: context.Background(), ready: make(chan struct{})}
		joined = append(joined, w)
		c.rest()
		c.mu.Unlock()
		<-w.ready
	}
}

// Real returns the real time that d of simulated time takes.
func (c *Clock) Real(d time.Duration) time.Duration {
	if c.pace <= 0 {
		return 0
	}
	return time.Duration(float64(d) / c.pace)
}

// wait makes a waiter. The caller holds mu, as of the methods below.
func (c *Clock) wait(ctx context.Context, at time.Time) *waiter {
	w := &waiter{at: at, ctx: ctx, ready: make(chan struct{})}
	c.insert(w)
	return w
}

// insert puts a waiter behind those of its moment.
func (c *Clock) insert(w *waiter) {
	i := len(c.waiting)
	for i > 0 && c.waiting[i-1].at.After(w.at) {
		i--
	}
	c.waiting = slices.Insert(c.waiting, i, w)
}

// rest notes that the calling goroutine works no more, and lets the next one go on
// when it was the last.
func (c *Clock) rest() {
	c.working--
	c.next()
}

// next lets the next waiter go on if no goroutine works: one whose context has ended, and
// otherwise the first, after the real time that the pace requires.
func (c *Clock) next() {
	if c.working > 0 || len(c.waiting) == 0 {
		return
	}
	for _, w := range c.waiting {
		if w.ctx.Err() != nil {
			c.release(w)
			return
		}
	}
	first := c.waiting[0]
	if left := first.at.Sub(c.now); c.pace > 0 && left > 0 {
		time.AfterFunc(c.Real(left), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			// Otherwise the goroutine that works now calls next when it waits.
			if c.working <= 0 && len(c.waiting) > 0 && c.waiting[0] == first {
				c.wake(first)
			}
		})
		return
	}
	c.wake(first)
}

// wake lets a waiter go on at its moment.
func (c *Clock) wake(w *waiter) {
	if w.at.After(c.now) {
		c.now = w.at
	}
	c.release(w)
}

func (c *Clock) release(w *waiter) {
	c.waiting = slices.DeleteFunc(c.waiting, func(o *waiter) bool { return o == w })
	c.working++
	close(w.ready)
}
