package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LatencyDefinition is a definition of latency in RFC 1242.
//
// +kubebuilder:validation:Enum=StoreAndForward;BitForwarding
type LatencyDefinition string

const (
	// LatencyStoreAndForward is from the last bit of a frame at the input of the device
	// to the first bit at its output (RFC 1242 section 3.8).
	LatencyStoreAndForward LatencyDefinition = "StoreAndForward"
	// LatencyBitForwarding is from the first bit at the input to the first bit at the
	// output.
	LatencyBitForwarding LatencyDefinition = "BitForwarding"
)

// RFC2544LatencyTest measures latency as RFC 2544 section 26.2 asks for it: trials of
// at least 120 s at the throughput, at least 20 of them, and the average over them.
type RFC2544LatencyTest struct {
	// load of every trial: the throughput, unless another one is asked for.
	// +optional
	// +kubebuilder:default="throughput"
	Load Load `json:"load,omitempty"`
	// repetitions is the number of trials; the result is the average.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="120s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
	// definition chooses the definition of latency in RFC 1242, by the kind of the device: one
	// that stores a frame before it forwards it, or one that forwards its first bits at once.
	// +optional
	// +kubebuilder:default=StoreAndForward
	Definition LatencyDefinition `json:"definition,omitempty"`
}

// RFC2544LatencySummary is the latency of several trials. The figure of a trial is the
// mean over its frames, in place of the one tagged frame of the RFC.
type RFC2544LatencySummary struct {
	// definition of latency in RFC 1242 that was asked for.
	// +required
	Definition LatencyDefinition `json:"definition"`
	// repetitions is the number of trials that were run.
	// +required
	Repetitions int32 `json:"repetitions"`
	// avgNs is the average over the trials in nanoseconds, from the first bit of a frame
	// at the sending port to its last bit at the receiving port.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the figure of the fastest trial.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the figure of the slowest trial.
	// +required
	MaxNs int64 `json:"maxNs"`
	// stddevNs is the standard deviation of the figures of the trials.
	// +required
	StddevNs int64 `json:"stddevNs"`
	// lowestOfferedPPM is the lowest load that a trial offered, in parts per million of line rate;
	// absent if every trial offered the intended load.
	// +optional
	LowestOfferedPPM int64 `json:"lowestOfferedPPM,omitempty"`
	// wireNs is the transmission time of a frame, in nanoseconds, on the wires that the
	// definition excludes: on the wires of both ports with StoreAndForward, on the wire of the
	// receiving port with BitForwarding. On wires of that speed, avgNs minus wireNs is the
	// latency by the definition. Between virtual ports a frame has no transmission time.
	// +required
	WireNs int64 `json:"wireNs"`
}
