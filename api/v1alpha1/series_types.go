package v1alpha1

// RateSeries contains the rates of sent and received frames in the course of a trial. The
// extremes are measured over single sampling intervals, even if points join several intervals.
type RateSeries struct {
	// samples is the number of sampled intervals.
	// +required
	Samples int32 `json:"samples"`
	// minReceivedFramesPerSecond is the lowest receive rate of any interval.
	// +required
	MinReceivedFramesPerSecond int64 `json:"minReceivedFramesPerSecond"`
	// avgReceivedFramesPerSecond is the receive rate over all intervals.
	// +required
	AvgReceivedFramesPerSecond int64 `json:"avgReceivedFramesPerSecond"`
	// maxReceivedFramesPerSecond is the highest receive rate of any interval.
	// +required
	MaxReceivedFramesPerSecond int64 `json:"maxReceivedFramesPerSecond"`
	// pointMilliseconds is the length of a point; the last one may be shorter. Absent where
	// points are not equally long: points.endMilliseconds contains the end of each.
	// +optional
	PointMilliseconds int64 `json:"pointMilliseconds,omitempty"`
	// durationMilliseconds is the end of the last point, from the beginning of sending.
	// +required
	DurationMilliseconds int64 `json:"durationMilliseconds"`
	// points are at most 240, as one list per column; where there are more samples, a
	// point joins as many intervals as that takes.
	// +required
	Points RatePoints `json:"points"`
}

// RatePoints are the columns of a series: the first numbers are those of the first
// point, and so on.
type RatePoints struct {
	// endMilliseconds contains the end of each point, from the beginning of sending; absent if
	// all points have the same length.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	EndMilliseconds []int64 `json:"endMilliseconds,omitempty"`
	// sentFramesPerSecond is the rate at which frames were sent in each point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	SentFramesPerSecond []int64 `json:"sentFramesPerSecond,omitempty"`
	// receivedFramesPerSecond is the rate at which frames arrived in each point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	ReceivedFramesPerSecond []int64 `json:"receivedFramesPerSecond,omitempty"`
	// minReceivedFramesPerSecond is the lowest receive rate of the intervals of each
	// point; absent where a point is one interval.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	MinReceivedFramesPerSecond []int64 `json:"minReceivedFramesPerSecond,omitempty"`
}

// Len returns the number of points.
func (p *RatePoints) Len() int { return len(p.ReceivedFramesPerSecond) }

// EndMilliseconds returns when a point ends, in milliseconds from the beginning of
// sending. Points count from 0.
func (s *RateSeries) EndMilliseconds(point int) int64 {
	if point < len(s.Points.EndMilliseconds) {
		return s.Points.EndMilliseconds[point]
	}
	return min(int64(point+1)*s.PointMilliseconds, s.DurationMilliseconds)
}
