package trend

import (
	"cmp"
	"math"
	"slices"
)

// arc is a part of a segment, from the first index to the one after the last.
type arc struct{ from, to int }

// segment are the scores of a part of a history, with what is needed to weigh its parts.
// The mean of the scores is 0.
type segment struct {
	scores []float64
	// sums of the scores before each index.
	sums []float64
	// weights of parts by their size: of the square of their sum they make that of how
	// far their mean is from 0, in standard deviations of what chance makes it.
	weights []float64
}

// newSegment is false where all values are the same.
func newSegment(scores []float64) (segment, bool) {
	n := len(scores)
	s := segment{scores, make([]float64, n+1), make([]float64, n)}
	variance := 0.0
	for _, score := range scores {
		variance += score * score / float64(n-1)
	}
	if variance == 0 {
		return s, false
	}
	for size := 1; size < n; size++ {
		s.weights[size] = float64(n) / (float64(size) * float64(n-size) * variance)
	}
	s.order()
	return s, true
}

// order sums the scores up in the order in which they are now.
func (s *segment) order() {
	for i, score := range s.scores {
		s.sums[i+1] = s.sums[i] + score
	}
}

// extremeArc is the part of a segment that differs most from the rest, and by how much. A
// part that reaches an end of the segment is a single change; another one is a level that
// came and went (circular binary segmentation, Olshen et al. 2004).
func extremeArc(s *segment) (most arc, highest float64) {
	for from := 1; from < len(s.scores); from++ { // one from 0 is the rest of one that ends the segment
		before, weights := s.sums[from], s.weights[1:]
		for i, sum := range s.sums[from+1:] {
			if d := sum - before; d*d*weights[i] > highest {
				most, highest = arc{from, from + 1 + i}, d*d*weights[i]
			}
		}
	}
	return most, highest
}

// extremeEnd is the end of a segment that differs most from what is before, and by how much.
func extremeEnd(s *segment) (most arc, highest float64) {
	n := len(s.scores)
	for from := 1; from < n; from++ {
		if d := s.sums[n] - s.sums[from]; d*d*s.weights[n-from] > highest {
			most, highest = arc{from, n}, d*d*s.weights[n-from]
		}
	}
	return most, highest
}

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
