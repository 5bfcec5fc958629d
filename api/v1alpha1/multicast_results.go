package v1alpha1

// MulticastSummary contains the counts of frames that the groups of a multicast pattern
// received in the trial that decided the row. Frames of a group are summed over its receivers.
type MulticastSummary struct {
	// groups that were sent to.
	// +required
	Groups int32 `json:"groups"`
	// receivers that a group has.
	// +required
	Receivers int32 `json:"receivers"`
	// minFrames is the number of frames that the group with the fewest frames received.
	// +required
	MinFrames int64 `json:"minFrames"`
	// maxFrames is the number of frames that the group with the most frames received.
	// +required
	MaxFrames int64 `json:"maxFrames"`
	// minFramesPerSecond is minFrames over the length of the trial, rounded to the
	// nearest.
	// +required
	MinFramesPerSecond int64 `json:"minFramesPerSecond"`
	// maxFramesPerSecond is maxFrames over the length of the trial, rounded to the
	// nearest.
	// +required
	MaxFramesPerSecond int64 `json:"maxFramesPerSecond"`
	// silentReceivers are the ports that received no frame at all, such as a mirror port that is
	// dead: the first 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	SilentReceivers []string `json:"silentReceivers,omitempty"`
}

// MaxSilentReceivers is the largest number of ports that a MulticastSummary names.
const MaxSilentReceivers = 16

// ClassesSummary contains the counts of sent and received frames of the traffic classes of a
// mixed pattern in the trial that decided the row (RFC 3918 section 4.1).
type ClassesSummary struct {
	// multicast frames.
	// +required
	Multicast ClassSummary `json:"multicast"`
	// unicast frames.
	// +required
	Unicast ClassSummary `json:"unicast"`
}

// ClassSummary contains the counts of sent and received frames of one traffic class. A frame
// that several ports receive counts at each of them.
type ClassSummary struct {
	// sent frames of the class.
	// +required
	Sent int64 `json:"sent"`
	// received frames of the class, without duplicates.
	// +required
	Received int64 `json:"received"`
	// lost frames of the class, at each port that should have received them.
	// +required
	Lost int64 `json:"lost"`
	// offeredFramesPerSecond is sent over the length of the trial, rounded to the
	// nearest.
	// +required
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// receivedFramesPerSecond is received over the length of the trial, rounded to the
	// nearest: the forwarding rate of the class.
	// +required
	ReceivedFramesPerSecond int64 `json:"receivedFramesPerSecond"`
	// portLoad is the offered load of this kind of traffic on the ports that send it.
	// +optional
	PortLoad *PortLoad `json:"portLoad,omitempty"`
}

// PortLoad is the offered load (RFC 2285 section 3.5.2) of the sending ports, in parts per
// million of the line rate of each, with preambles and inter-frame gaps.
type PortLoad struct {
	// lowestPPM is the load of the port with the smallest offered share of its line rate,
	// in parts per million.
	// +required
	LowestPPM int64 `json:"lowestPPM"`
	// highestPPM is the load of the port with the largest offered share of its line rate, in
	// parts per million.
	// +required
	HighestPPM int64 `json:"highestPPM"`
}

// PortLatency is the latency of multicast at one egress port, over all groups that it
// received in the trial that decided the row (RFC 3918 section 5.1).
type PortLatency struct {
	// port of the tester that received.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Port string `json:"port"`
	// minNs is the lowest latency in nanoseconds.
	// +required
	MinNs int64 `json:"minNs"`
	// avgNs is the average latency in nanoseconds.
	// +required
	AvgNs int64 `json:"avgNs"`
	// maxNs is the highest latency in nanoseconds.
	// +required
	MaxNs int64 `json:"maxNs"`
}
