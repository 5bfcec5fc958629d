package pace_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
