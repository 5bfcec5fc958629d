package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResetKind is the type of a reset (RFC 6201 section 4).
//
// +kubebuilder:validation:Enum=Hardware;Software;Power
type ResetKind string

const (
	// ResetHardware initializes physical components again: a routing processor, a
	// line card (RFC 6201 section 4.1).
	ResetHardware ResetKind = "Hardware"
	// ResetSoftware initializes an operating system or a process again (section 4.2).
	ResetSoftware ResetKind = "Software"
	// ResetPower interrupts the power of the whole device (section 4.3).
	ResetPower ResetKind = "Power"
)

// ResetTrigger defines who resets the device.
//
// +kubebuilder:validation:Enum=External;Device
type ResetTrigger string

const (
	// ResetExternal waits for a reset from outside the lab: by a person, a power switch, or a
	// step of a pipeline.
	ResetExternal ResetTrigger = "External"
	// ResetByDevice lets the lab reset the device.
	ResetByDevice ResetTrigger = "Device"
)

// ResetTimeMethod is the method by which a reset time is found (RFC 6201 section 1.3).
//
// +kubebuilder:validation:Enum=FrameLoss;Timestamp
type ResetTimeMethod string

const (
	// ResetByFrameLoss divides the frames that were lost by the rate at which they
	// were offered.
	ResetByFrameLoss ResetTimeMethod = "FrameLoss"
	// ResetByTimestamp takes the time from the last frame before the interruption to
	// the first one after it.
	ResetByTimestamp ResetTimeMethod = "Timestamp"
)

// ResetTest measures for how long a device that is reset does not forward (RFC
// 6201, which updates RFC 2544 section 26.6).
//
// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.trigger == 'Device' && self.kind != 'Power'",message="name chooses a reset of the bed: set trigger to Device and kind to Software or Hardware, or leave name out"
// +kubebuilder:validation:XValidation:rule="!has(self.powerOffTime) || self.kind == 'Power'",message="powerOffTime is for the kind Power: set kind to Power, or leave powerOffTime out"
type ResetTest struct {
	// kind of the reset. With trigger Device a physical device is reset by the way of this kind that its bed describes.
	// +optional
	// +kubebuilder:default=Software
	Kind ResetKind `json:"kind,omitempty"`
	// name of the reset in the bed (device.physical.management.ssh.resets), with trigger Device. It may be left out if the bed
	// describes one reset of the kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// method is FrameLoss: the frames that were lost over the rate at which they were
	// offered, for a tester that sends while the device is away. Or Timestamp: the
	// longest time between two frames that a port received, for a reset that takes the
	// links of the tester down, so that it cannot send.
	// +optional
	// +kubebuilder:default=FrameLoss
	Method ResetTimeMethod `json:"method,omitempty"`
	// trigger defines who resets the device: External, where the progress shows when to reset
	// it, or Device for a device that the lab can reset: a simulated one, or a physical one by a way that its bed
	// describes: with the kind Power by power outlets that have a switch, and with the other kinds by the resets of its management.
	// +optional
	// +kubebuilder:default=External
	Trigger ResetTrigger `json:"trigger,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found for the same frame size.
	// +optional
	// +kubebuilder:default=throughput
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which the device forwards before it is reset (RFC 6201 section
	// 4: at least 15 s).
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('1h')",messageExpression="'leadTime is ' + self + ': give 10ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// trialDuration is the length of every trial: leadTime, the reset, and until the
	// device forwards again.
	// +optional
	// +kubebuilder:default="300s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
	// powerOffTime is the time for which the power is off. It is subtracted from the reset
	// time (RFC 6201 section 4.3: 15 s). It applies to the kind Power, where the default is
	// 15s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'powerOffTime is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	PowerOffTime *metav1.Duration `json:"powerOffTime,omitempty"`
	// repetitions is the number of times that the device is reset; the result is the average.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Repetitions int32 `json:"repetitions,omitempty"`
}

// ResetSummary is the time for which a device that was reset did not forward (RFC 6201 section
// 1.3), for the stream with the longest interruption. Its resolution is the interval between
// two frames of a stream.
type ResetSummary struct {
	// kind of the reset.
	// +required
	Kind ResetKind `json:"kind"`
	// trigger is the party that reset the device.
	// +required
	Trigger ResetTrigger `json:"trigger"`
	// name of the reset in the bed; absent for a device that was reset without its commands.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// method by which avgNs, minNs and maxNs were found.
	// +optional
	Method ResetTimeMethod `json:"method,omitempty"`
	// repetitions is the number of trials.
	// +required
	Repetitions int32 `json:"repetitions"`
	// avgNs is the average reset time in nanoseconds.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest reset time.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest reset time.
	// +required
	MaxNs int64 `json:"maxNs"`
	// avgLost is the average number of lost frames, over all streams.
	// +required
	AvgLost int64 `json:"avgLost"`
	// frameLossAvgNs is the average reset time in nanoseconds by the frames that were
	// lost.
	// +optional
	FrameLossAvgNs *int64 `json:"frameLossAvgNs,omitempty"`
	// timestampAvgNs is the average reset time in nanoseconds by the times at which frames
	// arrived; absent when the engine does not report these.
	// +optional
	TimestampAvgNs *int64 `json:"timestampAvgNs,omitempty"`
	// powerOffNs is the time in nanoseconds that was subtracted from every reset time because
	// the power was off; 0 for other kinds than Power.
	// +optional
	PowerOffNs int64 `json:"powerOffNs,omitempty"`
}
