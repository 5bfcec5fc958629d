package v1alpha1

// TrialLog contains the finished trials of a row in compact form, so that `nodrop verify` can
// recompute the figures of the row from them.
type TrialLog struct {
	// elapsedNs is the duration of the row in nanoseconds, by the clock of the tester.
	// +required
	ElapsedNs int64 `json:"elapsedNs"`
	// omitted is the number of trials that are left out, since the row would be too large with
	// them. Trials that decided the row are not left out, unless the result of the benchmark is larger than 64 MiB.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
	// omittedSendingNs is the sending time of the omitted trials in nanoseconds.
	// +optional
	OmittedSendingNs int64 `json:"omittedSendingNs,omitempty"`
	// omittedFigures sum up the figures of the omitted trials, by their names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=264
	OmittedFigures []TrialFigure `json:"omittedFigures,omitempty"`
	// trials in the order in which they ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Trials []TrialRecord `json:"trials,omitempty"`
}

// TrialVerdict is the verdict on one trial.
//
// +kubebuilder:validation:Enum=Passed;Failed;Void
type TrialVerdict string

const (
	// TrialPassed means that the whole load was offered and no frame was lost for which the
	// device had a route; of a step without test frames, that the device did what it was asked.
	TrialPassed TrialVerdict = "Passed"
	// TrialFailed means that frames were lost, or that less than the load was offered.
	TrialFailed TrialVerdict = "Failed"
	// TrialVoid means that the trial is no result of the device and was repeated.
	TrialVoid TrialVerdict = "Void"
)

// TrialReason is a reason for the verdict on a trial that may not be the device.
//
// +kubebuilder:validation:Enum=ShortOfLoad;HeldBack;TesterLost;Stalled;Link;SessionDown;RouterDown;Contended;EndedEarly;EndedLate
type TrialReason string

const (
	// TrialShortOfLoad means that less than the load was offered.
	TrialShortOfLoad TrialReason = "ShortOfLoad"
	// TrialHeldBack means that the device held the senders back by pause frames.
	TrialHeldBack TrialReason = "HeldBack"
	// TrialTesterLost means that the tester lost frames itself, or that its counters contradict
	// each other.
	TrialTesterLost TrialReason = "TesterLost"
	// TrialStalled means that the lost frames can be due to bursts by which the tester caught up
	// with its schedule.
	TrialStalled TrialReason = "Stalled"
	// TrialLink means that a link of the tester was disturbed.
	TrialLink TrialReason = "Link"
	// TrialSessionDown means that a BGP session of the tester went down.
	TrialSessionDown TrialReason = "SessionDown"
	// TrialRouterDown means that the routing software of the device ended.
	TrialRouterDown TrialReason = "RouterDown"
	// TrialContended means that others used the processors of the tester.
	TrialContended TrialReason = "Contended"
	// TrialEndedEarly means that the trial was ended once it could not pass any more.
	TrialEndedEarly TrialReason = "EndedEarly"
	// TrialEndedLate means that the engine took so much longer than asked for that the offered
	// load was another one to the search.
	TrialEndedLate TrialReason = "EndedLate"
)

// TrialRecord is one finished trial of a row in compact form, or one step of a method that sends
// no test frames. Counts that are 0 are absent.
type TrialRecord struct {
	// number of the trial in its row, from 1. A row of a partial drop rate has copies of trials of
	// the throughput row, with their numbers there.
	// +required
	Number int32 `json:"number"`
	// role of the trial in its method, such as learn or alone; absent where all trials have the
	// same.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Role string `json:"role,omitempty"`
	// repetition of the method to which the trial belongs, from 1; absent where each trial is one.
	// +optional
	Repetition int32 `json:"repetition,omitempty"`
	// tried is the value that a method varies in place of the load: the frames of a burst, the
	// addresses, their rate, the groups, routes or sessions.
	// +optional
	Tried int64 `json:"tried,omitempty"`
	// verdict on the trial.
	// +required
	Verdict TrialVerdict `json:"verdict"`
	// reasons for the verdict that may not be the device.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Reasons []TrialReason `json:"reasons,omitempty"`
	// decides reports whether the row contains the counts of this trial.
	// +optional
	Decides bool `json:"decides,omitempty"`
	// limits reports whether the tester may have been the limit of the row in this trial.
	// +optional
	Limits bool `json:"limits,omitempty"`
	// loadPPM is the intended load in parts per million of line rate.
	// +optional
	LoadPPM int64 `json:"loadPPM,omitempty"`
	// durationNs is the length in nanoseconds that was asked for.
	// +optional
	DurationNs int64 `json:"durationNs,omitempty"`
	// sendingNs is the time in nanoseconds that sending took.
	// +optional
	SendingNs int64 `json:"sendingNs,omitempty"`
	// endedNs is the time in nanoseconds after which the trial was ended early; absent if it was
	// not.
	// +optional
	EndedNs int64 `json:"endedNs,omitempty"`
	// intended frames of the load.
	// +optional
	Intended int64 `json:"intended,omitempty"`
	// sent frames.
	// +optional
	Sent int64 `json:"sent,omitempty"`
	// expected frames: each sent frame once for each of its receivers.
	// +optional
	Expected int64 `json:"expected,omitempty"`
	// received frames, without duplicates.
	// +optional
	Received int64 `json:"received,omitempty"`
	// lost frames: expected and never received.
	// +optional
	Lost int64 `json:"lost,omitempty"`
	// excess frames were received beyond those sent.
	// +optional
	Excess int64 `json:"excess,omitempty"`
	// unreachable frames are lost frames for which the device had no route.
	// +optional
	Unreachable int64 `json:"unreachable,omitempty"`
	// duplicate frames.
	// +optional
	Duplicate int64 `json:"duplicate,omitempty"`
	// reordered frames (RFC 4737).
	// +optional
	Reordered int64 `json:"reordered,omitempty"`
	// outOfSequence frames in the older count.
	// +optional
	OutOfSequence int64 `json:"outOfSequence,omitempty"`
	// congested frames are received frames with the mark CE (RFC 3168).
	// +optional
	Congested int64 `json:"congested,omitempty"`
	// late frames, which count as lost.
	// +optional
	Late int64 `json:"late,omitempty"`
	// truncated frames, which count as lost.
	// +optional
	Truncated int64 `json:"truncated,omitempty"`
	// corrupted frames, which count as lost.
	// +optional
	Corrupted int64 `json:"corrupted,omitempty"`
	// fragmented frames, which count as lost.
	// +optional
	Fragmented int64 `json:"fragmented,omitempty"`
	// stale frames of earlier trials.
	// +optional
	Stale int64 `json:"stale,omitempty"`
	// flooded frames arrived at ports that only watch.
	// +optional
	Flooded int64 `json:"flooded,omitempty"`
	// elsewhere are received frames that came by a further path.
	// +optional
	Elsewhere int64 `json:"elsewhere,omitempty"`
	// forwardingRate in frames/s (RFC 2285 section 3.6.1).
	// +optional
	ForwardingRate int64 `json:"forwardingRate,omitempty"`
	// latency of the trial; absent if no frame was timed.
	// +optional
	Latency *LatencyRecord `json:"latency,omitempty"`
	// reordering of the frames of the trial that decides the row; absent if there was none.
	// +optional
	Reordering *ReorderingRecord `json:"reordering,omitempty"`
	// parts of the trial: flows, traffic classes or ports.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=264
	Parts []TrialPart `json:"parts,omitempty"`
	// figures that the method measured in the trial in addition to these counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=264
	Figures []TrialFigure `json:"figures,omitempty"`
}

// LatencyRecord contains sums of the latency of the frames of a trial, in nanoseconds.
type LatencyRecord struct {
	// count of timed frames.
	// +required
	Count int64 `json:"count"`
	// sumNs is the sum over the frames.
	// +required
	SumNs int64 `json:"sumNs"`
	// minNs is the lowest latency.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the highest latency.
	// +required
	MaxNs int64 `json:"maxNs"`
	// jitterCount is the number of differences between consecutive frames.
	// +optional
	JitterCount int64 `json:"jitterCount,omitempty"`
	// jitterSumNs is the sum of the differences.
	// +optional
	JitterSumNs int64 `json:"jitterSumNs,omitempty"`
	// jitterMaxNs is the largest difference.
	// +optional
	JitterMaxNs int64 `json:"jitterMaxNs,omitempty"`
	// buckets are pairs of numbers: by how much the bucket is above the one before, and the frames
	// in it. A bucket is a range of latency as in HdrHistogram: every nanosecond below 128, and 64
	// equal parts of every power of two above. Only the trial that decides the row has them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4480
	Buckets []int64 `json:"buckets,omitempty"`
}

// ReorderingRecord contains the raw counts of reordered frames of a trial (RFC 4737).
type ReorderingRecord struct {
	// extents are pairs of numbers: the smallest extent of a range, and the frames in it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Extents []int64 `json:"extents,omitempty"`
	// degrees are pairs of numbers: n, and the frames that are n-reordered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Degrees []int64 `json:"degrees,omitempty"`
	// extentMax is the largest extent in frames.
	// +optional
	ExtentMax int64 `json:"extentMax,omitempty"`
	// extentUnknown counts the frames whose extent is not wholly known.
	// +optional
	ExtentUnknown int64 `json:"extentUnknown,omitempty"`
	// lateMaxNs is the largest late time offset in nanoseconds.
	// +optional
	LateMaxNs int64 `json:"lateMaxNs,omitempty"`
	// degreeMax is the largest n for which a frame is n-reordered.
	// +optional
	DegreeMax int64 `json:"degreeMax,omitempty"`
	// gaps is the number of distances between reordering discontinuities.
	// +optional
	Gaps int64 `json:"gaps,omitempty"`
	// gapSum is the sum of the distances in frames.
	// +optional
	GapSum int64 `json:"gapSum,omitempty"`
	// gapMin is the smallest distance in frames.
	// +optional
	GapMin int64 `json:"gapMin,omitempty"`
}

// TrialPart contains the counts of a part of the frames of a trial.
type TrialPart struct {
	// name of the flow, class or port.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// sent frames of the part; one that many ports receive counts once.
	// +optional
	Sent int64 `json:"sent,omitempty"`
	// expected frames of the part, at each of its receivers.
	// +optional
	Expected int64 `json:"expected,omitempty"`
	// received frames of the part.
	// +optional
	Received int64 `json:"received,omitempty"`
	// lost frames of the part.
	// +optional
	Lost int64 `json:"lost,omitempty"`
	// latency of the frames of the part; absent if none was timed.
	// +optional
	Latency *LatencyRecord `json:"latency,omitempty"`
}

// TrialFigure sums up the values of one figure in a trial. Of one value, the three numbers are
// equal.
type TrialFigure struct {
	// name of the figure, with its unit.
	// +required
	// +kubebuilder:validation:MaxLength=96
	Name string `json:"name"`
	// count of the values.
	// +required
	Count int64 `json:"count"`
	// sum of the values.
	// +required
	Sum int64 `json:"sum"`
	// min is the smallest value.
	// +required
	Min int64 `json:"min"`
	// max is the largest value.
	// +required
	Max int64 `json:"max"`
}
