package v1alpha1

// CollectiveAlgorithm is a collective operation, and the order in which hosts exchange its parts.
//
// +kubebuilder:validation:Enum=RingAllReduce;TreeAllReduce;AllToAll
type CollectiveAlgorithm string

// CollectivesTest lets hosts sum or exchange messages over TCP, as accelerators do that train a model together. A host begins a
// step once it received everything of the step before, and everything that it sent arrived. Every result is compared with the
// expected one. Each message size makes a row.
type CollectivesTest struct {
	// algorithm is RingAllReduce, which sums parts of the messages in a ring; TreeAllReduce, which sums whole messages in a
	// binomial tree; or AllToAll, which sends a part of each message to each other host.
	// +optional
	// +kubebuilder:default=RingAllReduce
	Algorithm CollectiveAlgorithm `json:"algorithm,omitempty"`
	// hosts is the number of hosts. The ports take turns: with more hosts than ports, several share a port, and what they send to
	// each other does not pass the device.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=64
	Hosts int32 `json:"hosts,omitempty"`
	// messageSizes are the numbers of bytes of the message of each host: multiples of 8, the size of a number.
	// +optional
	// +listType=set
	// +kubebuilder:default={1048576,8388608}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=16
	// +kubebuilder:validation:items:Maximum=536870912
	MessageSizes []int32 `json:"messageSizes,omitempty"`
	// repetitions is the number of operations of a row.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
	// warmUpRepetitions is the number of operations before them that do not count. The windows of TCP grow in them.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	WarmUpRepetitions int32 `json:"warmUpRepetitions,omitempty"`
	// mtu of the hosts in bytes.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9198
	MTU int32 `json:"mtu,omitempty"`
	// congestionControl is the name of the congestion control of TCP, as the kernel of the hosts has it: reno,
	// cubic, bbr. Absent means the default of that kernel. The row has the name that was in force.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9_]*$')",messageExpression="'\"' + self + '\" is not a congestion control: use its name in the kernel, such as reno, cubic or bbr'"
	CongestionControl string `json:"congestionControl,omitempty"`
}

// CollectivesSummary is the result of a collective operation with messages of one size.
type CollectivesSummary struct {
	// algorithm of the operation.
	// +required
	Algorithm CollectiveAlgorithm `json:"algorithm"`
	// hosts that took part.
	// +required
	Hosts int32 `json:"hosts"`
	// congestionControl that was in force at the hosts.
	// +required
	// +kubebuilder:validation:MaxLength=15
	CongestionControl string `json:"congestionControl"`
	// mtu of the hosts in bytes.
	// +required
	MTU int32 `json:"mtu"`
	// repetitions that count.
	// +required
	Repetitions int64 `json:"repetitions"`
	// completion is the distribution of the times from the begin of an operation until the last host had its result.
	// +required
	Completion CompletionTimes `json:"completion"`
	// stepP50Ns are the medians of the times of the steps in nanoseconds: by how much later than the step before the last host
	// ended a step.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=126
	StepP50Ns []int64 `json:"stepP50Ns,omitempty"`
	// algorithmBitsPerSecond is the algorithm bandwidth: the size of a message over the mean completion time.
	// +required
	AlgorithmBitsPerSecond int64 `json:"algorithmBitsPerSecond"`
	// busBitsPerSecond is the bus bandwidth as nccl-tests defines it (PERFORMANCE.md): the algorithm bandwidth times 2 (n-1)/n for
	// an AllReduce, and times (n-1)/n for an AllToAll, with n hosts.
	// +required
	BusBitsPerSecond int64 `json:"busBitsPerSecond"`
	// localPPM is the part of all bytes that hosts of the same port sent to each other, without the device, in parts per million.
	// +optional
	LocalPPM int64 `json:"localPPM,omitempty"`
	// slowestLink is the pair of hosts with the highest median time of a transfer through the device. Absent with fewer than two
	// pairs.
	// +optional
	SlowestLink *SlowestLink `json:"slowestLink,omitempty"`
	// slowPort is the port at which the slowest link is slow. Absent if it is not slow, or single transfers did not tell which
	// port is the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	SlowPort string `json:"slowPort,omitempty"`
	// retransmissions is the number of segments that all hosts sent again.
	// +required
	Retransmissions int64 `json:"retransmissions"`
	// wrongResults is the number of results of hosts that were not as expected, over all repetitions. The row is Invalid if there
	// are any.
	// +required
	WrongResults int64 `json:"wrongResults"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
}

// SlowestLink is a pair of hosts of which one sends to the other through the device. A transfer takes from the time at which
// the sender had the data, and the transfer before was over, to its last byte at the receiver.
type SlowestLink struct {
	// fromHost is the number of the host that sends, from 1, and fromPort its port.
	// +required
	FromHost int32 `json:"fromHost"`
	// fromPort is described at fromHost.
	// +required
	// +kubebuilder:validation:MaxLength=15
	FromPort string `json:"fromPort"`
	// toHost is the number of the host that receives, from 1, and toPort its port.
	// +required
	ToHost int32 `json:"toHost"`
	// toPort is described at toHost.
	// +required
	// +kubebuilder:validation:MaxLength=15
	ToPort string `json:"toPort"`
	// p50Ns is the median of the times of its transfers.
	// +required
	P50Ns int64 `json:"p50Ns"`
	// othersP50Ns is the median of the medians of the other links.
	// +required
	OthersP50Ns int64 `json:"othersP50Ns"`
	// slow reports whether p50Ns is at least twice othersP50Ns.
	// +required
	Slow bool `json:"slow"`
	// probes are single transfers without other load, which are sent if the link is slow and the bed has two further ports.
	// +optional
	Probes *LinkProbes `json:"probes,omitempty"`
}

// LinkProbes are times of single transfers that tell which port of a link is slow: one that needs at least twice as long as
// the one between other ports.
type LinkProbes struct {
	// intoNs is the time from a host on a third port to the receiver of the link.
	// +required
	IntoNs int64 `json:"intoNs"`
	// outOfNs is the time from the sender of the link to a host on a third port.
	// +required
	OutOfNs int64 `json:"outOfNs"`
	// otherPortsNs is the time between hosts on two other ports.
	// +required
	OtherPortsNs int64 `json:"otherPortsNs"`
}
