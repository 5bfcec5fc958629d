package v1alpha1

// TrafficFlow is one of several kinds of traffic that are sent at once.
//
// +kubebuilder:validation:XValidation:rule="!has(self.frameSize) || !has(self.frameMix)",messageExpression="'flow ' + self.name + ' has frameSize and frameMix: give one of them, or none for the sizes of the profile'"
type TrafficFlow struct {
	// name of the flow in results, unique in the profile.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a flow: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// share of the load of every port that sends the flow, such as 30%: of its wire time,
	// with preambles and gaps. The shares of all flows that one port sends, or that one
	// port receives, add up to at most 100%.
	// +required
	Share Percentage `json:"share"`
	// frameSize in bytes, with FCS, of all frames of the flow. Without frameSize and
	// frameMix the flow has the size that a row is about.
	// +optional
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9216
	FrameSize *int32 `json:"frameSize,omitempty"`
	// frameMix is the mix of sizes of the flow's frames.
	// +optional
	FrameMix *FrameMix `json:"frameMix,omitempty"`
	// pattern defines which port sends to which.
	// +required
	Pattern Pattern `json:"pattern"`
	// packet describes the headers.
	// +required
	Packet Packet `json:"packet"`
}

// FlowSummary contains the counts of sent and received frames of one flow of a profile. A
// frame that several ports receive counts at each of them.
type FlowSummary struct {
	// name of the flow.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Name         string `json:"name"`
	ClassSummary `json:",inline"`
	// latency of the flow's frames; absent where none was timed.
	// +optional
	Latency *FlowLatency `json:"latency,omitempty"`
}

// FlowLatency is the latency of the frames of one flow.
type FlowLatency struct {
	// minNs is the lowest latency in nanoseconds.
	// +required
	MinNs int64 `json:"minNs"`
	// avgNs is the average latency in nanoseconds.
	// +required
	AvgNs int64 `json:"avgNs"`
	// maxNs is the highest latency in nanoseconds.
	// +required
	MaxNs int64 `json:"maxNs"`
	// p50Ns is the 50th percentile in nanoseconds; 0 when the engine counted no frames by
	// their latency.
	// +optional
	P50Ns int64 `json:"p50Ns,omitempty"`
	// p90Ns is the 90th percentile in nanoseconds.
	// +optional
	P90Ns int64 `json:"p90Ns,omitempty"`
	// p99Ns is the 99th percentile in nanoseconds.
	// +optional
	P99Ns int64 `json:"p99Ns,omitempty"`
	// p999Ns is the 99.9th percentile in nanoseconds.
	// +optional
	P999Ns int64 `json:"p999Ns,omitempty"`
}

// FlowsSize is the name of the size of rows of a profile in which every flow has a size of
// its own.
const FlowsSize = "flows"

// FollowsRow reports whether the flow has the size that a row is about.
func (f TrafficFlow) FollowsRow() bool { return f.FrameSize == nil && f.FrameMix == nil }
