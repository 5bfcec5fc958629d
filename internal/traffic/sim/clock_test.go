package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Goroutines of one clock go on one after the other, in the order of their moments
// and of their calls, and time passes only while all of them wait.
func TestGoroutinesShareTheClock(t *testing.T) {
	c := newClock()
	var order []string
	does := func(name string, sleeps ...time.Duration) func() {
		return func() {
			for _, d := range sleeps {
				if err := c.Sleep(t.Context(), d); err != nil {
					t.Error(err)
				}
				order = append(order, name+" "+c.Now().Sub(epoch).String())
			}
		}
	}
	one := c.Go(does("one", time.Second, 2*time.Second))
	two := c.Go(does("two", 2*time.Second, time.Second, time.Hour))
	does("caller", 2*time.Second)()
	one()
	two()
	two() // has ended
	want := []string{"one 1s", "caller 2s", "two 2s", "one 3s", "two 3s", "two 1h0m3s"}
	if !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// A goroutine whose wait is given up works again, and no other one goes on until it waits.
func TestASleepThatIsGivenUp(t *testing.T) {
	for name, pace := range map[string]float64{"at once": 0, "paced": 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				c.pace = pace
				enough := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				wait := c.Go(func() {
					if err := c.Sleep(t.Context(), time.Second); err != nil {
						t.Error(err)
					}
					cancel(enough)
				})
				if err := c.Sleep(ctx, time.Hour); !errors.Is(err, enough) {
					t.Errorf("error %v, want the cause", err)
				}
				wait()
				if now := c.Now().Sub(epoch); now != time.Second {
					t.Errorf("it is %s, want 1s", now)
				}
				if err := c.Sleep(t.Context(), time.Minute); err != nil || c.Now().Sub(epoch) != time.Minute+time.Second {
					t.Errorf("%v, at %s", err, c.Now().Sub(epoch))
				}
			})
		})
	}
}

// At a pace of 10, ten seconds take a second.
func TestThePaceOfSeveralGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.pace = 10
		begin := time.Now()
		wait := c.Go(func() { _ = c.Sleep(t.Context(), 10*time.Second) })
		if err := c.Sleep(t.Context(), 4*time.Second); err != nil || time.Since(begin) != 400*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		wait()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}
