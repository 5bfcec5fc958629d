package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FrameLossTest measures the share of lost frames at falling loads: from the
// highest one down in equal steps, until two loads in succession lost nothing.
type FrameLossTest struct {
	// maxLoad is the first load.
	// +optional
	// +kubebuilder:default="100%"
	MaxLoad LoadAmount `json:"maxLoad,omitempty"`
	// step is the difference between each load and the one before: 1% to 10% of line rate (RFC
	// 2544 section 26.3 allows no coarser one).
	// +optional
	// +kubebuilder:default="10%"
	Step LoadAmount `json:"step,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

// BackToBackTest searches the longest burst at line rate of which no frame is
// lost, again and again (RFC 9004). When a throughput test stands before it, the
// buffer time is corrected by what the device forwards meanwhile.
type BackToBackTest struct {
	// repetitions is the number of searches for the longest burst; the result is the average.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
	// maxBurstDuration is the duration of the longest burst that is tried.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('60s')",messageExpression="'maxBurstDuration is ' + self + ': give 1ms to 60s, a number with one of the units ns, us, ms, s, m and h'"
	MaxBurstDuration metav1.Duration `json:"maxBurstDuration,omitzero"`
	// resolutionFrames is the difference between the longest burst that passed and
	// the shortest that lost frames at which a search ends.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	ResolutionFrames int64 `json:"resolutionFrames,omitempty"`
}

// SoakTest sends at one load for long. At 100% it measures the maximum receive
// rate (MRR).
//
// +kubebuilder:validation:XValidation:rule="!has(self.samplingInterval) || !self.samplingInterval.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || !self.duration.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || duration(self.samplingInterval) <= duration(self.duration)",message="samplingInterval is longer than duration: lower it"
type SoakTest struct {
	// load is a percentage of line rate, a rate, or throughput.
	// +optional
	// +kubebuilder:default="100%"
	Load Load `json:"load,omitempty"`
	// duration of the trial.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('720h')",messageExpression="'duration is ' + self + ': give 100ms to 720h, a number with one of the units ns, us, ms, s, m and h'"
	Duration metav1.Duration `json:"duration,omitzero"`
	// samplingInterval is the interval at which the rates are read while the trial runs.
	// Without it the result has no series. The duration holds at most 100,000 intervals.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('1h')",messageExpression="'samplingInterval is ' + self + ': give 10ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	SamplingInterval *metav1.Duration `json:"samplingInterval,omitempty"`
}

// ForwardingRateTest measures how many frames per second the device forwards,
// lost ones or not: at the highest load, and the most at any load.
type ForwardingRateTest struct {
	// maxLoad is the maximum offered load.
	// +optional
	// +kubebuilder:default="100%"
	MaxLoad LoadAmount `json:"maxLoad,omitempty"`
	// step is the difference between each further load and the one before, 1% to 100%. Loads
	// are tried as long as they could forward more than the best so far.
	// +optional
	// +kubebuilder:default="10%"
	Step LoadAmount `json:"step,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

// OrderingTest measures how many frames arrive out of order at rising loads, and
// searches the load at which that begins.
type OrderingTest struct {
	// loads are measured from the lowest to the highest.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={"10%","20%","30%","40%","50%","60%","70%","80%","90%","100%"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'loads has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every load once'"
	Loads []Load `json:"loads,omitempty"`
	// resolution is the accuracy of the search for the load at which reordering begins.
	// +optional
	// +kubebuilder:default="1%"
	Resolution LoadAmount `json:"resolution,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

// RecoveryTest overloads the device with 110 % of its throughput, or with line
// rate where that is less, halves the load, and measures how long frames go on
// being lost. It needs a throughput test before it.
type RecoveryTest struct {
	// overloadDuration is the duration of the overload (RFC 2544 section 26.5: at least 60 s).
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1h')",messageExpression="'overloadDuration is ' + self + ': give 100ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	OverloadDuration metav1.Duration `json:"overloadDuration,omitzero"`
	// reducedDuration is the time for which half of that load is then sent. Longer recoveries
	// are not seen.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1h')",messageExpression="'reducedDuration is ' + self + ': give 100ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	ReducedDuration metav1.Duration `json:"reducedDuration,omitzero"`
	// repetitions is the number of measurements; the result is the average.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
}
