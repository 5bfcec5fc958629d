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
	all := len(differences)
	outside := min(outsideOf(len(before), len(after)), (all-1)/2)
	return Shift{Median(differences), differences[outside], differences[all-1-outside]}
}

// Decides reports whether so many values at each side can show a shift with a confidence of
// 95 %: 3 and 5, or 4 and 4.
func Decides(before, after int) bool {
	return before > 0 && after > 0 && 2*chance(before, after, 0)[0] <= 0.05
}

// exactProduct is the greatest product of two numbers of values for which the distribution is
// computed. The normal distribution is as good for more.
const exactProduct = 900

// outsideOf returns the number of differences that are outside of the bounds at each side (Mann
// and Whitney 1947): the greatest with which 95 % are inside, or 0 if no number has as much.
func outsideOf(n, m int) int {
	if n*m > exactProduct {
		a, b := float64(n), float64(m)
		return max(0, int(math.Floor(a*b/2-quantile*math.Sqrt(a*b*(a+b+1)/12))))
	}
	sum, most := 0.0, n*m/2
	for u, p := range chance(n, m, most) {
		if sum += p; 2*sum > 0.05 {
			return max(0, u-1)
		}
	}
	return most
}

// chance returns the probabilities of 0 to most in the distribution of the statistic U of n and
// m values of one distribution: how often a value of the one is above a value of the other.
func chance(n, m, most int) []float64 {
	// The largest value of all is one of the n, and above all m, or one of the m.
	before := make([][]float64, m+1)
	for j := range before {
		before[j] = make([]float64, most+1)
		before[j][0] = 1
	}
	for i := 1; i <= n; i++ {
		now := make([][]float64, m+1)
		for j := range now {
			now[j] = make([]float64, most+1)
			for u := range now[j] {
				if j == 0 {
					now[j][0] = 1
					break
				}
				share := float64(i) / float64(i+j)
				now[j][u] = (1 - share) * now[j-1][u]
				if u >= j {
					now[j][u] += share * before[j][u-j]
				}
			}
		}
		before = now
	}
	return before[m]
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
