package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkPhase is the phase of a benchmark in its life cycle.
//
// +kubebuilder:validation:Enum=Pending;Queued;Preparing;Running;CleaningUp;Passed;Measured;Inconclusive;Failed;Invalid;Aborted;Error
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
	// PhasePassed means that every row was measured, none failed, every test has a row that
	// can be judged by, and every gate passed. A benchmark without gates cannot pass.
	PhasePassed BenchmarkPhase = "Passed"
	// PhaseMeasured means the same of a benchmark without gates: its figures are conclusive, and
	// nothing says which of them are good.
	PhaseMeasured BenchmarkPhase = "Measured"
	// PhaseInconclusive means that every row was measured and none failed, and that a
	// test has no row that can be judged by: the tester was the limit, was disturbed, or
	// was not calibrated. What the device can do is not known. Or no gate failed, and one
	// is inconclusive.
	PhaseInconclusive BenchmarkPhase = "Inconclusive"
	// PhaseFailed means that a test was measured and failed: the device forwarded nothing,
	// or a figure is beyond the bound of a gate.
	PhaseFailed BenchmarkPhase = "Failed"
	// PhaseInvalid means that the tester could not measure what was asked, or not in the time
	// that spec.activeDeadlineSeconds allows.
	PhaseInvalid BenchmarkPhase = "Invalid"
	// PhaseAborted means that spec.abort was set.
	PhaseAborted BenchmarkPhase = "Aborted"
	// PhaseError means that the lab failed, not the device.
	PhaseError BenchmarkPhase = "Error"
)

// Finished reports whether the phase is one of the seven last ones.
func (p BenchmarkPhase) Finished() bool {
	switch p {
	case PhasePassed, PhaseMeasured, PhaseInconclusive, PhaseFailed, PhaseInvalid, PhaseAborted, PhaseError:
		return true
	}
	return false
}

// Measured reports whether every row was measured when the measurement ended so, and the
// device forwarded frames: the validity of each row shows whether it is conclusive. A
// benchmark whose rows were all measured ends with Failed where a gate failed.
func (p BenchmarkPhase) Measured() bool { return p.Succeeded() || p == PhaseInconclusive }

// Succeeded reports whether every row was measured, none failed, every test has a row that can be
// judged by, and every gate passed, if there are gates.
func (p BenchmarkPhase) Succeeded() bool { return p == PhasePassed || p == PhaseMeasured }

// BenchmarkStatus contains the progress of the benchmark and its result.
type BenchmarkStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the current phase of the benchmark.
	// +optional
	Phase BenchmarkPhase `json:"phase,omitempty"`
	// outcome is the phase that the benchmark ends in once the clean-up is done.
	// +optional
	Outcome BenchmarkPhase `json:"outcome,omitempty"`
	// message explains the phase in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// conditions are Accepted, BedLeased, DeviceReady, TrafficReady, Measured and
	// CleanedUp, BedPrepared where the bed has hooks, GatesPassed where there are gates, and for
	// tools that watch any kind of object Succeeded, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// testBedName is the bed that was leased.
	// +optional
	TestBedName string `json:"testBedName,omitempty"`
	// sharedWith are benchmarks that had other port groups of the device while this one was
	// measured, as namespace/name in the order in which they were seen, the first 16; see
	// spec.portGroup of the TestBed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=317
	SharedWith []string `json:"sharedWith,omitempty"`
	// variant of the device that is in hand: prepared, measured or removed. Absent
	// when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// startTime is the time at which the bed was leased. If the benchmark was preempted with
	// finished rows, it is the time of the first lease.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// activeSeconds is the time in seconds for which operators have seen the benchmark hold
	// its bed, summed over all leases. spec.activeDeadlineSeconds bounds it. It is stored
	// about once a minute, and when the benchmark is preempted.
	// +optional
	ActiveSeconds int64 `json:"activeSeconds,omitempty"`
	// attempt is the number of the attempt that waits for a bed, or has one, from 0. A further
	// one begins when a bed is returned: because the benchmark was preempted, or before
	// anything was started on it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
	// preemptions is the number of times that the bed was taken away from the benchmark in
	// favor of another one; see spec.preemptible.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Preemptions int32 `json:"preemptions,omitempty"`
	// preemption names the benchmark in whose favor the bed is being taken away. It is set
	// from the decision to stop until the bed was cleaned up and released.
	// +optional
	Preemption *Preemption `json:"preemption,omitempty"`
	// resumption is the point from which the benchmark resumes; absent unless it was preempted
	// with finished rows.
	// +optional
	Resumption *Resumption `json:"resumption,omitempty"`
	// leaseTime is the time at which a preempted benchmark got the bed again; absent while it
	// waits, and absent if it was not preempted.
	// +optional
	LeaseTime *metav1.Time `json:"leaseTime,omitempty"`
	// earlierRuns are the times in which the benchmark had a bed before it was preempted,
	// the last 8 of them, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	EarlierRuns []EarlierRun `json:"earlierRuns,omitempty"`
	// wait counts how long the benchmark waits for something that has a deadline;
	// absent while it waits for nothing, or only for a short time.
	// +optional
	Wait *Wait `json:"wait,omitempty"`
	// completionTime is the time at which the clean-up ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// progress is the trial in hand.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// gates are the verdicts of the gates, in the order of the specification, once the
	// benchmark is measured.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Gates []GateStatus `json:"gates,omitempty"`
	// results sums up what was measured; the rows are in objects of kind
	// BenchmarkResult.
	// +optional
	Results *ResultSummary `json:"results,omitempty"`
	// notifications are the events that are sent, or were, to each NotificationSink of the
	// namespace.
	// +optional
	// +listType=map
	// +listMapKey=sink
	// +listMapKey=event
	// +kubebuilder:validation:MaxItems=40
	Notifications []Notification `json:"notifications,omitempty"`
}

// Progress is the progress of the measurement.
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
	// trialsEstimated is the estimated number of trials.
	// +optional
	TrialsEstimated int32 `json:"trialsEstimated"`
	// secondsLeft is the estimated remaining time of the measurement in seconds.
	// +optional
	SecondsLeft int64 `json:"secondsLeft"`
	// rowTrials are the finished trials of the row in hand with a load, the latest last, 24 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=24
	RowTrials []ProgressTrial `json:"rowTrials,omitempty"`
	// rates of the trial in hand, or else of the trial before it; absent before the first.
	// +optional
	Rates *ProgressRates `json:"rates,omitempty"`
}

// MaxRowTrials is the maximum number of trials in the progress of a benchmark.
const MaxRowTrials = 24

// ProgressTrial is a finished trial of the row in hand.
type ProgressTrial struct {
	// loadPPM is the intended load in parts per million of line rate.
	// +required
	LoadPPM int64 `json:"loadPPM"`
	// verdict on the trial when it ended: Passed or Failed. The trial may be repeated.
	// +required
	Verdict TrialVerdict `json:"verdict"`
}

// ProgressRates contains rates at all ports together.
type ProgressRates struct {
	// sentFramesPerSecond is the rate of sent frames.
	// +required
	SentFramesPerSecond int64 `json:"sentFramesPerSecond"`
	// receivedFramesPerSecond is the rate of received frames.
	// +required
	ReceivedFramesPerSecond int64 `json:"receivedFramesPerSecond"`
	// inHand reports whether the rates are of the last interval of the trial in hand, which are known
	// where metrics are recorded. Otherwise they are of the whole trial before it.
	// +optional
	InHand bool `json:"inHand,omitempty"`
}

// Wait counts how long operators have waited for one thing. Only time between two
// looks of the same operator counts, and each look counts for a tenth of the
// deadline at most: an operator that was down, a clock that differs between two
// operators and a busy lab do not bring a deadline nearer.
type Wait struct {
	// reason with which the wait ends when it takes too long, such as DeviceFailed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// attempts is the number of checks or attempts of operators without success.
	// +required
	Attempts int32 `json:"attempts"`
	// seconds is the time in seconds for which operators have waited.
	// +required
	Seconds int64 `json:"seconds"`
}
