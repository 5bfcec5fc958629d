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
	// maxFrames is the number of frames that arrived in the interval of
	// maxReceivedFramesPerSecond, and maxNs is the length of that interval in nanoseconds.
	// +optional
	MaxFrames int64 `json:"maxFrames,omitempty"`
	// maxNs is the length of the interval of maxFrames in nanoseconds.
	// +optional
	MaxNs int64 `json:"maxNs,omitempty"`
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
	// endNs contains the end of each point in nanoseconds from the beginning of sending.
	// sentFrames and receivedFrames contain the frames that were counted until then. The rates
	// follow from these.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	EndNs []int64 `json:"endNs,omitempty"`
	// sentFrames is the number of frames that had been sent at the end of each point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	SentFrames []int64 `json:"sentFrames,omitempty"`
	// receivedFrames is the number of frames that had arrived at the end of each point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	ReceivedFrames []int64 `json:"receivedFrames,omitempty"`
	// minFrames is the number of frames that arrived in the interval of minReceivedFramesPerSecond
	// of each point, and minNs is the length of that interval in nanoseconds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	MinFrames []int64 `json:"minFrames,omitempty"`
	// minNs is the length of the intervals of minFrames in nanoseconds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	MinNs []int64 `json:"minNs,omitempty"`
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
