package trend

import (
	"math"
	"slices"
)

// Shift is the distance of a level from the one before.
type Shift struct {
	// Size is the median difference between a value of this level and one of the level
	// before (Hodges and Lehmann 1963), in the unit of the values.
	Size float64
	// Lowest and Highest bound it with a confidence of 95 %.
	Lowest, Highest float64
}

// quantile of the normal distribution that leaves 2.5 % above.
const quantile = 1.959964

// ShiftOf is the shift between two levels, which both have values.
func ShiftOf(before, after []float64) Shift {
	differences := make([]float64, 0, len(before)*len(after))
	for _, a := range after {
		for _, b := range before {
			differences = append(differences, a-b)
		}
	}
	slices.Sort(differences)
	n, m, all := float64(len(before)), float64(len(after)), len(differences)
	// As many of them are outside of the bounds at each side (Mann and Whitney 1947).
	outside := int(math.Floor(n*m/2 - quantile*math.Sqrt(n*m*(n+m+1)/12)))
	outside = min(max(outside, 0), (all-1)/2)
	return Shift{Median(differences), differences[outside], differences[all-1-outside]}
}

// Median of values, of which there is at least one.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
