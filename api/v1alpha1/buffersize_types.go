package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BufferSizeTest searches how many frames a port of the device holds (RFC 8239 sections
// 3 and 4). The first port of the bed sends to the second at line rate, and the third
// sends some frames more to it in the same time: the greatest number of these of which
// none is lost is what the second port's buffer takes.
type BufferSizeTest struct {
	// oversubscription is the rate of the third port, as a share of line rate: 1% as RFC
	// 8239 section 3.2 recommends it, or 100% for simultaneous bursts of both ports at
	// line rate, the microburst of section 4.2.
	// +optional
	// +kubebuilder:default="1%"
	Oversubscription Percentage `json:"oversubscription,omitempty"`
	// maxDuration is the longest time for which both ports send.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",messageExpression="'maxDuration is ' + self + ': give 1ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	MaxDuration metav1.Duration `json:"maxDuration,omitzero"`
	// resolutionFrames is the difference, in frames of the third port, between the
	// greatest number that passed and the least that did not at which the search ends.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	ResolutionFrames int64 `json:"resolutionFrames,omitempty"`
	// repetitions of the search, of which the average is reported.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
}

// BufferSizeSummary is the number of frames that a port of the device buffers (RFC 8239
// sections 3.2 and 4.2). If the largest number that was tried passed, it is a lower bound.
type BufferSizeSummary struct {
	// oversubscriptionPPM is the load beyond line rate that was sent to the port, in parts per million of line rate.
	// +required
	OversubscriptionPPM int64 `json:"oversubscriptionPPM"`
	// repetitions of the search.
	// +required
	Repetitions int32 `json:"repetitions"`
	// avgFrames is the average over the repetitions of the most frames beyond line rate
	// without loss: the maximum port buffer size in frames.
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
	// avgBytes is avgFrames times the frame size, with FCS.
	// +required
	AvgBytes int64 `json:"avgBytes"`
	// burstFrames is the number of frames that both ports sent together in the largest burst
	// without loss of the last repetition: the microburst that the port absorbs.
	// +required
	BurstFrames int64 `json:"burstFrames"`
	// drainedFrames is the most frames that the port can have sent while the tester was late in
	// a burst that passed: the buffer may be smaller by as many. Absent if the tester was in time.
	// +optional
	DrainedFrames int64 `json:"drainedFrames,omitempty"`
	// caughtUpFrames is the most frames that a port sent in a row, faster than its schedule, to make up
	// for a delay in the shortest burst that was not forwarded: the buffer may hold as
	// many more.
	// Absent if the tester was in time.
	// +optional
	CaughtUpFrames int64 `json:"caughtUpFrames,omitempty"`
}
