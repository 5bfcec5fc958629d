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
	// throughputPPM is the throughput by which it was corrected, in parts per million of line rate.
	// +optional
	ThroughputPPM int64 `json:"throughputPPM,omitempty"`
	// caughtUpFrames is the most frames that a port sent in a row, faster than its schedule, to make up
	// for a delay in the shortest burst that was not forwarded: the longest burst may be
	// longer by as many.
	// Absent if the tester was in time.
	// +optional
	CaughtUpFrames int64 `json:"caughtUpFrames,omitempty"`
}

// ForwardingRateSummary is the rate in frames/s that the device forwarded on all ports
// together (RFC 2285 section 3.6).
type ForwardingRateSummary struct {
	// atMaxLoad is the forwarding rate at the maximum offered load, in frames/s
	// (FRMOL).
	// +required
	AtMaxLoad int64 `json:"atMaxLoad"`
	// atMaxLoadBounds bound atMaxLoad; absent if it is exact.
	// +optional
	AtMaxLoadBounds *RateBounds `json:"atMaxLoadBounds,omitempty"`
	// max is the maximum forwarding rate at any load that was tried, in frames/s
	// (MFR).
	// +required
	Max int64 `json:"max"`
	// maxBounds bound max; absent if it is exact.
	// +optional
	MaxBounds *RateBounds `json:"maxBounds,omitempty"`
	// maxLoadPPM is the offered load, in parts per million of line rate, at which
	// the maximum was.
	// +required
	MaxLoadPPM int64 `json:"maxLoadPPM"`
}

// RateBounds bound a rate in frames/s. The rate is lower than it was counted if the device sent
// frames faster from its buffer after the end of sending than before, and higher if the tester
// may have lost some of the received frames.
type RateBounds struct {
	// low is the lowest rate that the counters allow.
	// +required
	Low int64 `json:"low"`
	// high is the highest rate that the counters allow.
	// +required
	High int64 `json:"high"`
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
	// reordering contains the distances by which the reordered frames came late; absent if
	// there were none.
	// +optional
	Reordering *ReorderingSummary `json:"reordering,omitempty"`
}

// ReorderingSummary contains the distances by which the reordered frames of a trial came late,
// for all streams together (RFC 4737 sections 4.2, 4.3, 4.5, 4.6 and 5). Positions and numbers
// count within one stream.
type ReorderingSummary struct {
	// extentMaxFrames is the largest reordering extent (section 4.2.3): how many frames
	// were received from the first one with a larger number on.
	// +required
	ExtentMaxFrames int64 `json:"extentMaxFrames"`
	// extents are the reordered frames by their extent, in rising order, without the
	// ranges that have none.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Extents []ReorderingExtent `json:"extents"`
	// extentUnknown counts the reordered frames of which the engine did not know the
	// whole extent any more. They count with the least that it can be, and so does
	// their late time offset.
	// +optional
	ExtentUnknown int64 `json:"extentUnknown,omitempty"`
	// lateMaxNs is the largest late time offset in nanoseconds (section 4.3.3): the time
	// since the arrival of the first frame with a larger number.
	// +required
	LateMaxNs int64 `json:"lateMaxNs"`
	// freeRunFrames is the average reordering-free run (section 4.6.3): the frames in
	// order over the reordered ones, rounded half up.
	// +required
	FreeRunFrames int64 `json:"freeRunFrames"`
	// nMax is the largest n for which a frame is n-reordered; 0 when every reordered
	// frame followed one with a smaller number. From 65 on it is a lower bound when many
	// frames are reordered at once.
	// +required
	NMax int64 `json:"nMax"`
	// nReordered are the frames that are n-reordered (section 5.3): the n frames received
	// just before them have larger numbers. n is 1 to 8 and the powers of two above, as
	// long as there are such frames. The frames of one n are also among the frames of
	// smaller ones. With three, a TCP sender considers a frame lost.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	NReordered []NReordering `json:"nReordered,omitempty"`
	// gaps are the distances between reordering discontinuities (section 4.5); absent when
	// there were less than two in every stream, and with engines that do not know them.
	// +optional
	Gaps *ReorderingGaps `json:"gaps,omitempty"`
}

// ReorderingGaps are the distances from one reordering discontinuity to the next (RFC 4737
// section 4.5). The discontinuity of a reordered frame is the first frame received that has
// a larger number; that of a frame with an unknown extent is left out.
type ReorderingGaps struct {
	// count is the number of distances.
	// +required
	Count int64 `json:"count"`
	// minFrames is the smallest, in frames received.
	// +required
	MinFrames int64 `json:"minFrames"`
	// avgFrames is the average, in frames received, rounded half up.
	// +required
	AvgFrames int64 `json:"avgFrames"`
}

// ReorderingExtent is the number of reordered frames with an extent within a range.
type ReorderingExtent struct {
	// from is the smallest extent of the range, in frames.
	// +required
	From int64 `json:"from"`
	// to is the largest extent of the range; absent when it has no end.
	// +optional
	To *int64 `json:"to,omitempty"`
	// frames with such an extent.
	// +required
	Frames int64 `json:"frames"`
}

// NReordering is the number of n-reordered frames.
type NReordering struct {
	// n of the n-reordering.
	// +required
	N int64 `json:"n"`
	// frames that are n-reordered.
	// +required
	Frames int64 `json:"frames"`
	// ppm is the degree of n-reordering: their share of the received frames in parts per
	// million, rounded half up but never to 0.
	// +required
	PPM int64 `json:"ppm"`
}

// RecoverySummary is the time for which frames were lost after an overload was reduced (RFC
// 2544 section 26.5): from the reduction to the last lost frame, for the stream with the
// longest loss. It is 0 if no frame was lost after the reduction.
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
