package trend

import (
	"math"
	"testing"
)

// The numbers are in the tables of Mann and Whitney (1947) for a two-sided test with 5 %: the
// greatest U that is significant. One less is outside of the bounds at each side.
func TestOutsideOfTheTables(t *testing.T) {
	for _, c := range []struct{ n, m, critical int }{{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {3, 5, 0}, {8, 10, 17}, {10, 10, 23}, {20, 20, 127}} {
		if got := outsideOf(c.n, c.m); got != c.critical {
			t.Errorf("%d and %d values: %d outside, want %d", c.n, c.m, got, c.critical)
		}
	}
	for _, c := range []struct {
		n, m int
		want bool
	}{{1, 100, true}, {1, 38, false}, {3, 4, false}, {3, 5, true}, {4, 4, true}, {0, 9, false}} {
		if got := Decides(c.n, c.m); got != c.want {
			t.Errorf("%d and %d values decide: %v", c.n, c.m, got)
		}
	}
	sum := 0.0
	for _, p := range chance(6, 7, 42) {
		sum += p
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("the probabilities add up to %v", sum)
	}
}
