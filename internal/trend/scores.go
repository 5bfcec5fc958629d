package trend

import (
	"cmp"
	"math"
	"slices"
)

// scoresOf are the normal scores of values: the quantiles of the normal distribution at
// their ranks (van der Waerden). Values that are equal have the mean of their scores. They
// sum up to 0, and a value that is far out has little more than the next one.
func scoresOf(values []float64) []float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	scores := make([]float64, n)
	for from := 0; from < n; {
		to, sum := from, 0.0
		for ; to < n && values[order[to]] == values[order[from]]; to++ {
			sum += math.Sqrt2 * math.Erfinv(2*float64(to+1)/float64(n+1)-1)
		}
		for _, i := range order[from:to] {
			scores[i] = sum / float64(to-from)
		}
		from = to
	}
	return scores
}
