package report

import (
	"math"
	"strconv"
)

// scale maps values of an axis to positions in a drawing.
type scale struct {
	low, high float64
	from, to  float64
	log       bool
	ticks     []float64
}

// at is the position of a value. On a logarithmic axis values are above 0.
func (s scale) at(v float64) float64 {
	share := 0.0
	if s.log {
		share = (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	} else {
		share = (v - s.low) / (s.high - s.low)
	}
	return s.from + share*(s.to-s.from)
}

// logarithmic ranges demand it when the highest value is this many times the lowest.
const logFrom = 20

// scaleFor makes an axis for values of at least 0 from lowest to highest: from 0
// when it is linear, from the next of 1, 2, 5 and their powers of ten when it is
// logarithmic.
func scaleFor(lowest, highest, from, to float64) scale {
	if lowest > 0 && highest/lowest >= logFrom {
		return logScale(lowest, highest, from, to)
	}
	if highest <= 0 {
		highest = 1
	}
	step := niceStep(highest / 4)
	s := scale{low: 0, high: math.Ceil(highest/step-1e-9) * step, from: from, to: to}
	for i := 0; float64(i)*step <= s.high+step/2; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

func logScale(lowest, highest, from, to float64) scale {
	s := scale{log: true, from: from, to: to}
	first, last := int(math.Floor(math.Log10(lowest))), int(math.Ceil(math.Log10(highest)))
	mantissas := []float64{1, 2, 5}
	if last-first > 3 {
		mantissas = []float64{1}
	}
	for exponent := first; exponent <= last; exponent++ {
		for _, m := range mantissas {
			tick := m * math.Pow10(exponent)
			if tick <= lowest*(1+1e-9) {
				s.ticks = s.ticks[:0]
			}
			s.ticks = append(s.ticks, tick)
			if tick >= highest*(1-1e-9) {
				s.low, s.high = s.ticks[0], tick
				return s
			}
		}
	}
	s.low, s.high = s.ticks[0], s.ticks[len(s.ticks)-1]
	return s
}

// niceStep is the next of 1, 2, 2.5, 5 and their powers of ten.
func niceStep(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickLabel writes an axis value without digits that say nothing.
func tickLabel(v float64) string {
	if v >= 1000 {
		return group(int64(math.Round(v)))
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// place moves positions apart, in their order, until they are at least gap from
// each other and within low and high where there is room for that. The positions
// are sorted upwards.
func place(positions []float64, gap, low, high float64) []float64 {
	placed := make([]float64, len(positions))
	for i, p := range positions {
		placed[i] = max(p, low)
		if i > 0 {
			placed[i] = max(placed[i], placed[i-1]+gap)
		}
	}
	limit := high
	for i := len(placed) - 1; i >= 0 && placed[i] > limit; i-- {
		placed[i] = limit
		limit -= gap
	}
	return placed
}
