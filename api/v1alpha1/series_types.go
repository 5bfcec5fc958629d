package v1alpha1

// RateSeries is how many frames per second were sent and received in the course
// of a trial. The extremes are those of single sampling intervals, also where
// points join several.
type RateSeries struct {
	// samples is how many intervals were sampled.
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
	// points are at most 240; where there are more samples, a point joins as many
	// intervals as that takes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=240
	Points []RatePoint `json:"points,omitempty"`
}

// RatePoint is a part of a trial: one sampling interval, or several joined.
type RatePoint struct {
	// offsetMilliseconds is when the part ends, from the beginning of sending.
	// +required
	OffsetMilliseconds int64 `json:"offsetMilliseconds"`
	// sentFramesPerSecond is the rate at which frames were sent in it.
	// +required
	SentFramesPerSecond int64 `json:"sentFramesPerSecond"`
	// receivedFramesPerSecond is the rate at which frames arrived in it.
	// +required
	ReceivedFramesPerSecond int64 `json:"receivedFramesPerSecond"`
	// minReceivedFramesPerSecond is the lowest receive rate of its intervals; absent
	// when it is one.
	// +optional
	MinReceivedFramesPerSecond *int64 `json:"minReceivedFramesPerSecond,omitempty"`
}
