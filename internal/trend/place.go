package trend

import "math"

// far is the distance from a level, in standard deviations, from which on a value says
// nothing more about where the level begins.
const far = 3

// place returns the index at which the levels before and after a change meet: the first
// value of the later one, so that values are as near to the medians as can be. Ranks show
// that levels differ; by themselves they assign some values of one level to the other, which
// is near to them.
func place(values []float64, near int) int {
	deviation := spreadOf(values, near)
	best, least := near, math.Inf(1)
	for at := 1; at < len(values); at++ {
		before, after, sum := Median(values[:at]), Median(values[at:]), 0.0
		for i, v := range values {
			if i < at {
				sum += penalty(v-before, deviation)
			} else {
				sum += penalty(v-after, deviation)
			}
		}
		if sum < least {
			best, least = at, sum
		}
	}
	return best
}

// spreadOf is the standard deviation from two levels, by the median of the distances, which
// values that are far out do not change.
func spreadOf(values []float64, at int) float64 {
	before, after := Median(values[:at]), Median(values[at:])
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - before)
		if i >= at {
			distances[i] = math.Abs(v - after)
		}
	}
	return Median(distances) / 0.6745 // that of the normal distribution
}

func penalty(distance, deviation float64) float64 {
	if math.Abs(distance) >= far*deviation {
		if distance == 0 {
			return 0
		}
		return far * far
	}
	return distance * distance / (deviation * deviation)
}
