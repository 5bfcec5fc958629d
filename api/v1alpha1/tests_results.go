package v1alpha1

// BackToBackSummary is the longest burst at line rate without loss (RFC 9004), in
// frames per sending port. When a burst of the greatest length passed, it is a
// lower bound.
type BackToBackSummary struct {
	// repetitions of the search.
	// +required
	Repetitions int32 `json:"repetitions"`
	// avgFrames is the average of the repetitions: the back-to-back value.
	// +required
	AvgFrames int64 `json:"avgFrames"`
	// minFrames is the least of the repetitions.
	// +required
	MinFrames int64 `json:"minFrames"`
	// maxFrames is the greatest of the repetitions.
	// +required
	MaxFrames int64 `json:"maxFrames"`
	// stddevFrames is the standard deviation of the sample; 0 for one repetition.
	// +required
	StddevFrames int64 `json:"stddevFrames"`
	// bufferNs is the implied buffer time in nanoseconds: the average over the line
	// rate.
	// +required
	BufferNs int64 `json:"bufferNs"`
	// correctedBufferNs is the buffer time without what was forwarded while the
	// burst arrived; absent when no throughput test stands before.
	// +optional
	CorrectedBufferNs *int64 `json:"correctedBufferNs,omitempty"`
	// throughputPPM of line rate is what it was corrected with.
	// +optional
	ThroughputPPM int64 `json:"throughputPPM,omitempty"`
}

// ForwardingRateSummary is how many frames/s the device forwarded on all ports
// together (RFC 2285 section 3.6).
type ForwardingRateSummary struct {
	// atMaxLoad is the forwarding rate at the maximum offered load, in frames/s
	// (FRMOL).
	// +required
	AtMaxLoad int64 `json:"atMaxLoad"`
	// max is the maximum forwarding rate at any load that was tried, in frames/s
	// (MFR).
	// +required
	Max int64 `json:"max"`
	// maxLoadPPM is the intended load, in parts per million of line rate, at which
	// the maximum was.
	// +required
	MaxLoadPPM int64 `json:"maxLoadPPM"`
}

// OrderingSummary is the order of the received frames. The shares are of the
// received frames, in parts per million, rounded half up but never to 0.
type OrderingSummary struct {
	// reorderedPPM is the share of reordered frames (RFC 4737 type-P-reordered).
	// +required
	ReorderedPPM int64 `json:"reorderedPPM"`
	// outOfSequencePPM is the share of frames out of sequence in the older count.
	// +required
	OutOfSequencePPM int64 `json:"outOfSequencePPM"`
	// inOrderPPM is the highest load below the onset, in parts per million of line
	// rate, at which every frame was in order; 0 without one.
	// +optional
	InOrderPPM int64 `json:"inOrderPPM,omitempty"`
	// onsetPPM is the lowest load, in parts per million of line rate, at which
	// frames were reordered; 0 when none were up to this row's load.
	// +optional
	OnsetPPM int64 `json:"onsetPPM,omitempty"`
}

// RecoverySummary is how long frames were lost after an overload was reduced (RFC
// 2544 section 26.5): from the reduction to the last lost frame, of the stream
// that lost longest. It is 0 when none was lost any more.
type RecoverySummary struct {
	// repetitions of the measurement.
	// +required
	Repetitions int32 `json:"repetitions"`
	// overloadPPM of line rate was the overload.
	// +required
	OverloadPPM int64 `json:"overloadPPM"`
	// reducedPPM of line rate was the load after it.
	// +required
	ReducedPPM int64 `json:"reducedPPM"`
	// avgNs is the average recovery time in nanoseconds.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest recovery time.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest recovery time.
	// +required
	MaxNs int64 `json:"maxNs"`
}
