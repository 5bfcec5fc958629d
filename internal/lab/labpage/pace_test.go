package labpage

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A user who asks without pause gets so many answers per second, and does not delay others.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(10, 5)
		var served, refused atomic.Int32
		var all sync.WaitGroup
		began := time.Now()
		for range 20 {
			all.Go(func() {
				for time.Since(began) < time.Minute {
					if p.await(t.Context(), "flood", 2*time.Second) {
						served.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		time.Sleep(30 * time.Second)
		if before := time.Now(); !p.await(t.Context(), "other", time.Second) || time.Since(before) > 0 {
			t.Error("another user waits")
		}
		all.Wait()
		// The last requests begin within the minute, and end within two seconds after it.
		if n := served.Load(); n < 10+5*60 || n > 10+5*62 {
			t.Errorf("%d requests were served, want 310 to 320", n)
		}
		if n := refused.Load(); n == 0 || n > 20*60 {
			t.Errorf("%d requests were refused, want at most one per second of each of 20", n)
		}
	})
}
