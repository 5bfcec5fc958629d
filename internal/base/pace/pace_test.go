package pace_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"nodrop.dev/nodrop/internal/base/pace"
)

// TestPaceOfEach counts the times of each of many for itself.
func TestPaceOfEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(3, 2)
		for range 2 {
			for i := range 100 {
				n := 0
				for p.Of(fmt.Sprint("team-", i)).Allow() {
					n++
				}
				if n != 3 {
					t.Fatalf("team %d was allowed %d times at once, want 3", i, n)
				}
			}
			time.Sleep(1500 * time.Millisecond)
		}
	})
}

// TestPaceOfOneIsShared has many ask for the same limiters at the same time.
func TestPaceOfOneIsShared(t *testing.T) {
	t.Parallel()
	for range 10 {
		p := pace.New(3, 2)
		var all sync.WaitGroup
		var got [8][5000]*rate.Limiter
		for n := range got {
			all.Go(func() {
				for i := range got[n] {
					got[n][i] = p.Of(strconv.Itoa(i))
				}
			})
		}
		all.Wait()
		for n := range got {
			if got[n] != got[0] {
				t.Fatal("two who asked at the same time have different limiters")
			}
		}
	}
}
