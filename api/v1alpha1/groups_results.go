package v1alpha1

// GroupDelaySummary is a group join delay (RFC 3918 section 6.1) or a group leave
// delay (section 6.2) in nanoseconds, over all groups, receiving ports and
// repetitions. It holds the latency of the frame that ends it, and is known to
// resolutionNs.
type GroupDelaySummary struct {
	// repetitions of the measurement.
	// +required
	Repetitions int32 `json:"repetitions"`
	// method of a group join delay: A or B; absent for a group leave delay.
	// +optional
	Method GroupJoinMethod `json:"method,omitempty"`
	// protocol that the reports are of: IGMPv3 or MLDv2.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Protocol string `json:"protocol"`
	// groups that were joined or left.
	// +required
	Groups int32 `json:"groups"`
	// receivers is the number of egress ports that were measured.
	// +required
	Receivers int32 `json:"receivers"`
	// avgNs is the average delay.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest delay.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest delay.
	// +required
	MaxNs int64 `json:"maxNs"`
	// resolutionNs is the interval in nanoseconds between two frames of a group. The true join
	// delay is shorter by at most this amount, and the true leave delay is longer by at most
	// this amount.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
	// unseen is the number of delays that did not end within the trial. The figures do not
	// include them.
	// +optional
	Unseen int64 `json:"unseen,omitempty"`
	// ports are the delays of every egress port, at most 256 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Ports []PortDelay `json:"ports,omitempty"`
}

// PortDelay is the delay of one egress port over all groups and repetitions.
type PortDelay struct {
	// port of the tester that received.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Port string `json:"port"`
	// avgNs is the average delay.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest delay.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest delay.
	// +required
	MaxNs int64 `json:"maxNs"`
}

// GroupCapacitySummary is the number of multicast groups that a device forwards (RFC 3918
// section 7.1).
type GroupCapacitySummary struct {
	// groups is the greatest number of groups that were joined and of which every
	// frame was forwarded to every receiving port; 0 when not even one was.
	// +required
	Groups int32 `json:"groups"`
	// failedGroups is the least number of groups of which not every frame was
	// forwarded; 0 when all groups of the profile were.
	// +optional
	FailedGroups int32 `json:"failedGroups"`
	// multicastRoutes is the number of multicast routes that the device needs for groups: one
	// for each group and sender, (S,G) of RFC 7761 section 4.1.
	// +optional
	MulticastRoutes int64 `json:"multicastRoutes"`
	// silentGroups is the number of groups, in the trial with failedGroups groups, from which
	// at least one port received no frame.
	// +optional
	SilentGroups int32 `json:"silentGroups"`
	// protocol that the reports are of: IGMPv3 or MLDv2.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Protocol string `json:"protocol"`
	// receivers is the number of egress ports.
	// +required
	Receivers int32 `json:"receivers"`
}
