package trend

import (
	"math"
	"math/rand/v2"
	"slices"
)

// significance is the highest probability with which values in random order have a change
// as clear as that which is reported.
const significance = 0.001

// shuffles is the maximum number of times that a history is put into another order, to find
// how often chance alone makes as large a difference; enough is the number of larger ones
// that end that early (Besag and Clifford 1991).
const (
	shuffles = 9_999
	enough   = significance * (shuffles + 1)
)

// MaxValues is the maximum number of values of a history that are looked at: the newest
// ones.
const MaxValues = 250

// Changes are the places where the level of a history changed: the index of the first value
// of each level but the first, in their order. Values are in the order in which they were
// measured; of more than MaxValues the newest are looked at. There are no settings: values
// count by their rank, and a change is one that chance makes in one of 1,000 histories of
// the same values. The same values have the same result always.
func Changes(values []float64) []int {
	offset := max(0, len(values)-MaxValues)
	values = values[offset:]
	random := rand.New(rand.NewPCG(1, 2))
	found := confirmed(values, split(values, random), random)
	for i := range found {
		found[i] += offset
	}
	return found
}

// split finds the changes of a history, and then those of its parts.
func split(values []float64, random *rand.Rand) []int {
	part, ok := clear(values, extremeArc, random)
	if !ok {
		return nil
	}
	var found []int
	for _, next := range []arc{{0, part.from}, part, {part.to, len(values)}} {
		for _, at := range split(values[next.from:next.to], random) {
			found = append(found, next.from+at)
		}
		if next.to < len(values) {
			found = append(found, next.to)
		}
	}
	return found
}

// confirmed are the changes that are clear between the levels before and after, at the
// place where these differ most. A level that came and went has two, of which one may be
// chance. Each pass removes one, or moves some, or is the last.
func confirmed(values []float64, found []int, random *rand.Rand) []int {
	for range 2 * len(values) {
		before := slices.Clone(found)
		for i := range found {
			from, to := 0, len(values)
			if i > 0 {
				from = found[i-1]
			}
			if i+1 < len(found) {
				to = found[i+1]
			}
			end, ok := clear(values[from:to], extremeEnd, random)
			if !ok { // The levels before and after are one.
				found = slices.Delete(found, i, i+1)
				break
			}
			found[i] = from + place(values[from:to], end.from)
		}
		if slices.Equal(before, found) {
			break
		}
	}
	return found
}

// clear is the part of a history that differs most from the rest, and whether by more than
// chance makes such parts differ.
func clear(values []float64, extreme func(*segment) (arc, float64), random *rand.Rand) (arc, bool) {
	if len(values) < 2 {
		return arc{}, false
	}
	s, differ := newSegment(scoresOf(values))
	if !differ {
		return arc{}, false
	}
	part, difference := extreme(&s)
	larger := 0
	for range shuffles {
		random.Shuffle(len(s.scores), func(i, j int) { s.scores[i], s.scores[j] = s.scores[j], s.scores[i] })
		s.order()
		if _, d := extreme(&s); d >= difference {
			if larger++; larger >= enough {
				return part, false
			}
		}
	}
	return part, true
}

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
