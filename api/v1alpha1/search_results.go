package v1alpha1

// SearchSummary contains the effort and the result of a search, with the report fields of RFC
// 9971. The load of the row is the lower bound.
type SearchSummary struct {
	// method of the search.
	// +required
	Method SearchMethod `json:"method"`
	// start names the earlier result from which the first load was derived, such as "64 B";
	// absent without one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Start string `json:"start,omitempty"`
	// upperBoundPPM is the lowest load that did not pass, in parts per million of
	// line rate; 0 when the highest load passed.
	// +optional
	UpperBoundPPM int64 `json:"upperBoundPPM"`
	// trialMilliseconds is the sending time of all trials of the search in milliseconds. One
	// search serves all loss ratios of a test.
	// +optional
	TrialMilliseconds int64 `json:"trialMilliseconds"`
	// capped reports whether timeLimit ended the search: the load passed, but the upper
	// bound may be further away than resolution.
	// +optional
	Capped bool `json:"capped,omitempty"`
	// forgiven is the number of failures that the search Informed revoked because a later
	// trial, at least as long, passed at the same or a higher load. A value above 0 means that
	// the device or the bed was disturbed, or that frames are lost at random.
	// +optional
	Forgiven int32 `json:"forgiven,omitempty"`
	// goal is the Goal Result of MLRsearch; absent for other searches.
	// +optional
	Goal *GoalResult `json:"goal,omitempty"`
}

// GoalResult is the Goal Result of one Search Goal (RFC 9971).
type GoalResult struct {
	// name of the goal: NDR or PDR.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// regular reports whether the Relevant Lower Bound and the Relevant Upper Bound both
	// exist and are as close as asked for.
	// +optional
	Regular bool `json:"regular"`
	// conditionalFramesPerSecond is the Conditional Throughput in frames/s summed
	// over all sending ports, rounded to the nearest.
	// +optional
	ConditionalFramesPerSecond int64 `json:"conditionalFramesPerSecond"`
	// lowerBoundMilliseconds is the length of all full-length trials at the Relevant
	// Lower Bound.
	// +optional
	LowerBoundMilliseconds int64 `json:"lowerBoundMilliseconds"`
	// upperBoundMilliseconds is the length of all full-length trials at the Relevant
	// Upper Bound.
	// +optional
	UpperBoundMilliseconds int64 `json:"upperBoundMilliseconds"`
}

// LatencySummary is latency and jitter in nanoseconds. Jitter is the absolute
// difference of the latencies of consecutive frames of one stream (RFC 4689).
type LatencySummary struct {
	// timedFrames is the number of received frames that were timed; absent if all were.
	// +optional
	TimedFrames *int64 `json:"timedFrames,omitempty"`
	// minNs is the lowest latency.
	// +required
	MinNs int64 `json:"minNs"`
	// avgNs is the mean latency.
	// +required
	AvgNs int64 `json:"avgNs"`
	// maxNs is the highest latency.
	// +required
	MaxNs int64 `json:"maxNs"`
	// p50Ns is the 50th percentile.
	// +optional
	P50Ns int64 `json:"p50Ns"`
	// p90Ns is the 90th percentile.
	// +optional
	P90Ns int64 `json:"p90Ns"`
	// p99Ns is the 99th percentile.
	// +optional
	P99Ns int64 `json:"p99Ns"`
	// p999Ns is the 99.9th percentile.
	// +optional
	P999Ns int64 `json:"p999Ns"`
	// jitterAvgNs is the mean jitter; absent when it was not measured.
	// +optional
	JitterAvgNs *int64 `json:"jitterAvgNs,omitempty"`
	// jitterMaxNs is the highest jitter; absent when it was not measured.
	// +optional
	JitterMaxNs *int64 `json:"jitterMaxNs,omitempty"`
}
