package compare

import (
	"fmt"
	"math"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// Significance reports whether two repeated figures differ by more than chance makes: by the
// median difference between their values (Hodges and Lehmann 1963), and the interval in which it
// lies with a confidence of 95 % (Mann and Whitney 1947). Both assume no distribution.
type Significance struct {
	// significant is true if the interval does not contain 0.
	Significant bool `json:"significant"`
	// low is the lower bound of the difference, in the unit of the figure.
	Low int64 `json:"low"`
	// high is the upper bound of the difference.
	High int64 `json:"high"`
	// repetitions of each side that would probably make a difference of this size significant;
	// absent if it is, and if there is no difference.
	Repetitions int64 `json:"repetitions,omitempty"`
}

// minRepetitions is the least number of repetitions of both sides that can show a difference.
const minRepetitions = 4

// significanceOf compares a metric of two rows; nil unless both were measured repeatedly.
func significanceOf(baseline, other *v1alpha1.ResultRow, metric string) *Significance {
	if baseline == nil || other == nil {
		return nil
	}
	before, after := baseline.Repeated.Figure(metric), other.Repeated.Figure(metric)
	if before == nil || after == nil || len(before.Values) < 2 || len(after.Values) < 2 {
		return nil
	}
	shift := trend.ShiftOf(floats(before.Values), floats(after.Values))
	s := &Significance{Low: int64(math.Floor(shift.Lowest)), High: int64(math.Ceil(shift.Highest))}
	decides := trend.Decides(len(before.Values), len(after.Values))
	s.Significant = decides && (shift.Lowest > 0 || shift.Highest < 0)
	if !s.Significant && shift.Size != 0 {
		n := min(len(before.Values), len(after.Values))
		s.Repetitions = max(minRepetitions, RepetitionsFor(n, (shift.Highest-shift.Lowest)/2, shift.Size))
	}
	return s
}

// RepetitionsFor is about how many repetitions make a difference significant that has an
// interval of the given half width after so many: the width falls with the square root of their
// number. It is at most 1,000,000, and the difference is not 0.
func RepetitionsFor(repetitions int, halfWidth, difference float64) int64 {
	ratio := halfWidth / math.Abs(difference)
	return int64(min(1e6, math.Ceil(float64(repetitions)*ratio*ratio)))
}

// Text describes a difference that is not significant; empty if it is, or if it is not known.
func (s *Significance) Text() string {
	switch {
	case s == nil || s.Significant:
		return ""
	case s.Repetitions == 0:
		return "no difference"
	}
	return fmt.Sprintf("not significant: about %d repetitions of each would resolve it", s.Repetitions)
}

func floats(values []int64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = float64(v)
	}
	return all
}
