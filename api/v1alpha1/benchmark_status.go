package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkPhase is where a benchmark is in its life.
//
// +kubebuilder:validation:Enum=Pending;Queued;Preparing;Running;CleaningUp;Passed;Failed;Invalid;Aborted;Error
type BenchmarkPhase string

const (
	// PhasePending means that the preflight checks were not passed yet.
	PhasePending BenchmarkPhase = "Pending"
	// PhaseQueued means that the benchmark waits for a bed.
	PhaseQueued BenchmarkPhase = "Queued"
	// PhasePreparing means that device and traffic pods are being started.
	PhasePreparing BenchmarkPhase = "Preparing"
	// PhaseRunning means that trials run.
	PhaseRunning BenchmarkPhase = "Running"
	// PhaseCleaningUp means that everything started is being removed.
	PhaseCleaningUp BenchmarkPhase = "CleaningUp"
	// PhasePassed means that every test was measured, and none failed.
	PhasePassed BenchmarkPhase = "Passed"
	// PhaseFailed means that a test was measured and failed: the device forwarded nothing.
	PhaseFailed BenchmarkPhase = "Failed"
	// PhaseInvalid means that the tester could not measure what was asked.
	PhaseInvalid BenchmarkPhase = "Invalid"
	// PhaseAborted means that somebody set spec.abort.
	PhaseAborted BenchmarkPhase = "Aborted"
	// PhaseError means that the lab failed, not the device.
	PhaseError BenchmarkPhase = "Error"
)

// Finished reports whether the phase is one of the five last ones.
func (p BenchmarkPhase) Finished() bool {
	switch p {
	case PhasePassed, PhaseFailed, PhaseInvalid, PhaseAborted, PhaseError:
		return true
	}
	return false
}

// BenchmarkStatus is how far a benchmark is, and its result.
type BenchmarkStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is where the benchmark is.
	// +optional
	Phase BenchmarkPhase `json:"phase,omitempty"`
	// outcome is the phase that the benchmark ends in once the clean-up is done.
	// +optional
	Outcome BenchmarkPhase `json:"outcome,omitempty"`
	// message explains the phase in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are Accepted, BedLeased, DeviceReady, TrafficReady, Measured and
	// CleanedUp.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// testBedName is the bed that was leased.
	// +optional
	TestBedName string `json:"testBedName,omitempty"`
	// variant of the device that is in hand: prepared, measured or removed. Absent
	// when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// startTime is when the bed was leased.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the bed was free again.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// progress is the trial in hand.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// results sums up what was measured; the rows are in objects of kind
	// BenchmarkResult.
	// +optional
	Results *ResultSummary `json:"results,omitempty"`
	// rows are the results measured so far, in the order of the tests.
	// +optional
	// +listType=atomic
	Rows []ResultRow `json:"rows,omitempty"`
	// environment says with what the result was made.
	// +optional
	Environment *ResultEnvironment `json:"environment,omitempty"`
}

// Progress is how far the measurement is.
type Progress struct {
	// summary is the whole in a few words: "3/7 rows, 41%, 2m10s left".
	// +optional
	Summary string `json:"summary,omitempty"`
	// trial is the trial in hand: "throughput 512 B: 62.5% for 10s".
	// +optional
	Trial string `json:"trial,omitempty"`
	// rowsDone is the number of finished rows.
	// +optional
	RowsDone int32 `json:"rowsDone"`
	// rowsTotal is the number of rows of the plan.
	// +optional
	RowsTotal int32 `json:"rowsTotal"`
	// trialsDone is the number of finished trials.
	// +optional
	TrialsDone int32 `json:"trialsDone"`
	// trialsEstimated is about how many trials there will be.
	// +optional
	TrialsEstimated int32 `json:"trialsEstimated"`
	// secondsLeft is about how long the measurement still takes.
	// +optional
	SecondsLeft int64 `json:"secondsLeft"`
}

// Validity says whether a number can be believed, apart from pass or fail.
//
// +kubebuilder:validation:Enum=Valid;Virtual;Uncalibrated;Contended;GeneratorBound;Invalid
type Validity string

const (
	// ValidityValid is a measurement of the device.
	ValidityValid Validity = "Valid"
	// ValidityVirtual is a measurement of a software device on shared processors:
	// functional truth, not a claim about hardware.
	ValidityVirtual Validity = "Virtual"
	// ValidityUncalibrated means that the bed itself was not measured back to back.
	ValidityUncalibrated Validity = "Uncalibrated"
	// ValidityContended means that others used processor or bed during the trial.
	ValidityContended Validity = "Contended"
	// ValidityGeneratorBound means that the tester, not the device, was the limit.
	ValidityGeneratorBound Validity = "GeneratorBound"
	// ValidityInvalid means that what was to be measured did not happen during the
	// trial, such as a reset.
	ValidityInvalid Validity = "Invalid"
)

// Method names the method of a result row.
//
// +kubebuilder:validation:Enum=Throughput;PartialDropRate;Latency;FrameLoss;BackToBack;Soak;ForwardingRate;Ordering;Recovery;AddressCaching;AddressLearning;Broadcast;HeadOfLineBlocking;CongestionControl;GroupJoinDelay;GroupLeaveDelay;GroupCapacity;Reset
type Method string

const (
	// MethodThroughput is RFC 2544 section 26.1.
	MethodThroughput Method = "Throughput"
	// MethodPartialDropRate is the highest load at which the loss ratio is not above
	// the one asked for (RFC 9971); it is never called throughput.
	MethodPartialDropRate Method = "PartialDropRate"
	// MethodLatency is RFC 2544 section 26.2.
	MethodLatency Method = "Latency"
	// MethodFrameLoss is RFC 2544 section 26.3.
	MethodFrameLoss Method = "FrameLoss"
	// MethodBackToBack is RFC 9004.
	MethodBackToBack Method = "BackToBack"
	// MethodSoak is one long trial.
	MethodSoak Method = "Soak"
	// MethodForwardingRate is the forwarding rates of RFC 2889 sections 5.1 and 5.6.
	MethodForwardingRate Method = "ForwardingRate"
	// MethodOrdering is RFC 4737 at several loads.
	MethodOrdering Method = "Ordering"
	// MethodRecovery is RFC 2544 section 26.5.
	MethodRecovery Method = "Recovery"
	// MethodAddressCaching is RFC 2889 section 5.7.
	MethodAddressCaching Method = "AddressCaching"
	// MethodAddressLearning is RFC 2889 section 5.8.
	MethodAddressLearning Method = "AddressLearning"
	// MethodBroadcast is RFC 2889 section 5.10.
	MethodBroadcast Method = "Broadcast"
	// MethodHeadOfLineBlocking is RFC 2285 section 3.7.3, by the streams of RFC 2889
	// section 5.5.
	MethodHeadOfLineBlocking Method = "HeadOfLineBlocking"
	// MethodCongestionControl is RFC 2889 section 5.5.
	MethodCongestionControl Method = "CongestionControl"
	// MethodGroupJoinDelay is RFC 3918 section 6.1.
	MethodGroupJoinDelay Method = "GroupJoinDelay"
	// MethodGroupLeaveDelay is RFC 3918 section 6.2.
	MethodGroupLeaveDelay Method = "GroupLeaveDelay"
	// MethodGroupCapacity is RFC 3918 section 7.1.
	MethodGroupCapacity Method = "GroupCapacity"
	// MethodReset is RFC 6201.
	MethodReset Method = "Reset"
)

// ResultRow is one row of the result table: one test at one frame size, and for
// many methods at one load. Counters are those of the trial that decided the
// row, summed over all ports.
type ResultRow struct {
	// test is the name of the test.
	// +required
	Test string `json:"test"`
	// variant of the device that was measured; absent when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// method of the test.
	// +required
	Method Method `json:"method"`
	// frameSize in bytes, with FCS; 0 in a row of a mix, which has no one size.
	// +required
	FrameSize int32 `json:"frameSize"`
	// frameMix is the name of the mix that was sent in place of frames of one size.
	// +optional
	FrameMix string `json:"frameMix,omitempty"`
	// load is the load asked for, such as "50%" or "throughput"; absent when the
	// method finds the load itself.
	// +optional
	Load Load `json:"load,omitempty"`
	// lossRatioPPM is the loss ratio of a partial drop rate in parts per million of
	// the frames sent; absent for all other rows.
	// +optional
	LossRatioPPM int64 `json:"lossRatioPPM,omitempty"`
	// lineRatePPM is the intended load in parts per million of line rate: for a
	// throughput test the throughput, 0 when no load passed.
	// +required
	LineRatePPM int64 `json:"lineRatePPM"`
	// framesPerSecond is the intended load in frames/s summed over all sending
	// ports, rounded to the nearest. A frame counts once for each of its receivers,
	// so that of multicast it is what all receivers get together when none is lost
	// (the aggregated multicast throughput of RFC 3918).
	// +required
	FramesPerSecond int64 `json:"framesPerSecond"`
	// bitsPerSecond is framesPerSecond in bit/s at layer 2: frames with FCS,
	// without preamble and inter-frame gap.
	// +required
	BitsPerSecond int64 `json:"bitsPerSecond"`
	// offeredFramesPerSecond is what left the tester in that trial.
	// +optional
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// sent frames.
	// +optional
	Sent int64 `json:"sent"`
	// received frames, without duplicates; one that many ports receive counts at
	// each of them.
	// +optional
	Received int64 `json:"received"`
	// lost frames: sent and never received, at each port that should have.
	// +optional
	Lost int64 `json:"lost"`
	// duplicate frames; absent when the engine does not tell them from others.
	// +optional
	Duplicate *int64 `json:"duplicate,omitempty"`
	// reordered frames (RFC 4737); absent when the engine does not know the order.
	// +optional
	Reordered *int64 `json:"reordered,omitempty"`
	// outOfSequence frames in an older count: those whose number does not follow
	// that of the frame received before them. Absent when the engine does not know the
	// order.
	// +optional
	OutOfSequence *int64 `json:"outOfSequence,omitempty"`
	// lossPPM is the share of lost frames among the sent ones in parts per million,
	// rounded half up but never to 0; absent where a method does not ask for it.
	// +optional
	LossPPM *int64 `json:"lossPPM,omitempty"`
	// receivedFramesPerSecond is the received frames over the length of the trial;
	// absent where a method does not ask for it.
	// +optional
	ReceivedFramesPerSecond *int64 `json:"receivedFramesPerSecond,omitempty"`
	// backToBack is what a back-to-back test found.
	// +optional
	BackToBack *BackToBackSummary `json:"backToBack,omitempty"`
	// forwardingRate is what a forwarding rate test found.
	// +optional
	ForwardingRate *ForwardingRateSummary `json:"forwardingRate,omitempty"`
	// ordering is what an ordering test measured.
	// +optional
	Ordering *OrderingSummary `json:"ordering,omitempty"`
	// recovery is what a system recovery test measured.
	// +optional
	Recovery *RecoverySummary `json:"recovery,omitempty"`
	// multicast is what the groups received; absent for unicast.
	// +optional
	Multicast *MulticastSummary `json:"multicast,omitempty"`
	// addressCaching is what an address caching test found.
	// +optional
	AddressCaching *AddressCachingSummary `json:"addressCaching,omitempty"`
	// addressLearning is what an address learning test found.
	// +optional
	AddressLearning *AddressLearningSummary `json:"addressLearning,omitempty"`
	// broadcast is what a broadcast test measured.
	// +optional
	Broadcast *BroadcastSummary `json:"broadcast,omitempty"`
	// headOfLineBlocking is what a head of line blocking test measured.
	// +optional
	HeadOfLineBlocking *HeadOfLineBlockingSummary `json:"headOfLineBlocking,omitempty"`
	// congestionControl is what a congestion control test measured.
	// +optional
	CongestionControl *CongestionControlSummary `json:"congestionControl,omitempty"`
	// groupDelay is what a group join delay or group leave delay test measured.
	// +optional
	GroupDelay *GroupDelaySummary `json:"groupDelay,omitempty"`
	// groupCapacity is what a group capacity test found.
	// +optional
	GroupCapacity *GroupCapacitySummary `json:"groupCapacity,omitempty"`
	// reset is what a reset test measured.
	// +optional
	Reset *ResetSummary `json:"reset,omitempty"`
	// series is the rates in the course of the trial; absent where a test asks for no
	// samplingInterval.
	// +optional
	Series *RateSeries `json:"series,omitempty"`
	// latency of every received frame, or of those that were timed; absent when there
	// was none.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// trials that the row took.
	// +optional
	Trials int32 `json:"trials"`
	// trialMilliseconds is the length of the trial that decided the row.
	// +optional
	TrialMilliseconds int64 `json:"trialMilliseconds"`
	// elapsedMilliseconds is how long the row took.
	// +optional
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds"`
	// search is what the search of a throughput or partial drop rate took and found.
	// +optional
	Search *SearchSummary `json:"search,omitempty"`
	// validity says whether the row can be believed.
	// +required
	Validity Validity `json:"validity"`
	// validityReasons explain a validity other than Valid.
	// +optional
	// +listType=atomic
	ValidityReasons []string `json:"validityReasons,omitempty"`
	// message explains an unusual result, such as a throughput of 0.
	// +optional
	Message string `json:"message,omitempty"`
}

// SearchSummary is what a search took and found, with the report fields of RFC
// 9971. The load of the row is the lower bound.
type SearchSummary struct {
	// method of the search.
	// +required
	Method SearchMethod `json:"method"`
	// start says from where the first load was known, such as "64 B"; absent when
	// nothing was known.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Start string `json:"start,omitempty"`
	// upperBoundPPM is the lowest load that did not pass, in parts per million of
	// line rate; 0 when the highest load passed.
	// +optional
	UpperBoundPPM int64 `json:"upperBoundPPM"`
	// trialMilliseconds is how long the tester sent in all trials of the search; one
	// search serves all loss ratios of a test.
	// +optional
	TrialMilliseconds int64 `json:"trialMilliseconds"`
	// capped says that timeLimit ended the search: the load passed, but the upper
	// bound may be further away than resolution.
	// +optional
	Capped bool `json:"capped,omitempty"`
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
	// regular says that the Relevant Lower Bound and the Relevant Upper Bound both
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
	// timedFrames is how many of the received frames were timed; absent when all
	// were.
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

// ResultEnvironment says with what a result was made, so that somebody else can
// repeat it.
type ResultEnvironment struct {
	// nodropVersion is the version of NoDrop.
	// +optional
	NoDropVersion string `json:"nodropVersion,omitempty"`
	// engine that sent and received.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`
	// engineDetail is how the engine did it: "XDP live frames, native receive".
	// +optional
	EngineDetail string `json:"engineDetail,omitempty"`
	// latencyType says between which two points latency was measured.
	// +optional
	LatencyType string `json:"latencyType,omitempty"`
	// device describes the device under test.
	// +optional
	Device string `json:"device,omitempty"`
	// variants are the configurations of the device that the benchmark names.
	// +optional
	// +listType=atomic
	Variants []VariantEnvironment `json:"variants,omitempty"`
	// calibration of the tester that the result rests on: that of the bed, or of a
	// benchmark without a device its own; absent when there is none.
	// +optional
	Calibration *CalibrationStatus `json:"calibration,omitempty"`
	// hosts are the machines that sent and received.
	// +optional
	// +listType=atomic
	Hosts []HostEnvironment `json:"hosts,omitempty"`
	// portCount is the number of the tester's ports.
	// +optional
	PortCount int32 `json:"portCount,omitempty"`
	// ports are the tester's ports. Beyond 64 ports only the first 64 are listed.
	// +optional
	// +listType=atomic
	Ports []PortEnvironment `json:"ports,omitempty"`
}

// VariantEnvironment describes a configuration of the device.
type VariantEnvironment struct {
	// name of the variant.
	// +required
	Name VariantName `json:"name"`
	// device describes the device under test in this configuration.
	// +optional
	Device string `json:"device,omitempty"`
}

// HostEnvironment describes a machine of the tester.
type HostEnvironment struct {
	// name of the node or host.
	// +optional
	Name string `json:"name,omitempty"`
	// kernel release.
	// +optional
	Kernel string `json:"kernel,omitempty"`
	// cpu is the processor's model name.
	// +optional
	CPU string `json:"cpu,omitempty"`
	// cpus is the number of processors that the tester could use.
	// +optional
	CPUs int32 `json:"cpus,omitempty"`
}

// PortEnvironment describes a port of the tester.
type PortEnvironment struct {
	// name of the port in the bed.
	// +required
	Name string `json:"name"`
	// interface that stood behind it.
	// +optional
	Interface string `json:"interface,omitempty"`
	// driver of the interface.
	// +optional
	Driver string `json:"driver,omitempty"`
	// mac is the hardware address.
	// +optional
	MAC string `json:"mac,omitempty"`
	// speed is the nominal speed.
	// +optional
	Speed BitRate `json:"speed,omitempty"`
	// addresses of the port.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
}
