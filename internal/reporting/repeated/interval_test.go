package repeated

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The ranks k are in the table of the sign test (Conover 1999, table A3): the interval from the
// k-th lowest to the k-th highest of n values contains the median with at least 95 %.
func TestRankOfTheTable(t *testing.T) {
	for _, c := range []struct {
		n, k int
		ppm  int64
	}{
		{1, 1, 0}, {2, 1, 500_000}, {3, 1, 750_000}, {5, 1, 937_500}, {6, 1, 968_750}, {8, 1, 992_187}, {9, 2, 960_937},
		{12, 3, 961_425}, {15, 4, 964_843}, {20, 6, 958_610}, {50, 18, 967_160}, {100, 40, 964_799},
	} {
		if k, ppm := rank(c.n); k != c.k || ppm != c.ppm {
			t.Errorf("%d values: from the %d. with %d ppm, want the %d. with %d ppm", c.n, k, ppm, c.k, c.ppm)
		}
	}
}

// Of a distribution that is far from normal, the interval contains the median as often as it
// claims.
func TestIntervalContainsTheMedian(t *testing.T) {
	const runs, median = 4000, 1000
	random := rand.New(rand.NewPCG(26, 3))
	for _, n := range []int{6, 9, 15} {
		inside, claimed := 0, int64(0)
		for range runs {
			values := make([]bounded, n)
			for i := range values {
				v := int64(median - random.IntN(100) - 1)
				if random.IntN(2) == 0 {
					v = median + int64(1000*random.ExpFloat64()) // a long tail at one side
				}
				values[i] = exactly(v)
			}
			f := interval(values)
			claimed = f.ConfidencePPM
			if f.Low <= median && median <= f.High {
				inside++
			}
			if f.Median < f.Low || f.Median > f.High || f.Median < slices.Min(f.Values) {
				t.Fatalf("a median of %d between %d and %d", f.Median, f.Low, f.High)
			}
		}
		share := float64(inside) / runs * 1e6
		if low, high := float64(claimed)-15_000, float64(claimed)+15_000; share < low || share > high {
			t.Errorf("%d values: the interval contains the median in %.0f ppm of all runs, and claims %d ppm", n, share, claimed)
		}
	}
}

// Bounds of single values widen the interval.
func TestIntervalIsAsWideAsItsValues(t *testing.T) {
	f := interval([]bounded{{10, 9, 12}, {20, 20, 25}, {30, 28, 33}})
	if f.Median != 20 || f.Low != 9 || f.High != 33 || f.ConfidencePPM >= 950_000 {
		t.Errorf("got %+v", f)
	}
}
