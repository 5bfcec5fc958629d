package v1alpha1

// IncastTest lets a client ask many servers at once for a block each, over TCP connections that stay open.
// All blocks leave the device by the port of the client. Each number of servers makes one row, for all frame
// sizes. Test frames are sent with stateless only.
//
// +kubebuilder:validation:XValidation:rule="!has(self.blockSize) || !has(self.totalSize)",message="give blockSize, which each server sends, or totalSize, which all servers send together, and not both"
type IncastTest struct {
	// servers are the numbers of servers, from few to many. The numbers of the list after the first are
	// compared with the first, which should be 1.
	// +optional
	// +listType=set
	// +kubebuilder:default={1,2,4,8,16,32}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=128
	Servers []int32 `json:"servers,omitempty"`
	// blockSize is the number of bytes that each server sends in an iteration. Absent means 8,000,000,
	// unless totalSize is given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	BlockSize int64 `json:"blockSize,omitempty"`
	// totalSize is the number of bytes that all servers send together in an iteration, each an equal part.
	// +optional
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=1073741824
	TotalSize int64 `json:"totalSize,omitempty"`
	// iterations is the number of times that the client asks all servers.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Iterations int32 `json:"iterations,omitempty"`
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
	// client is the name of the port of the client. Absent means the first port of the bed. The servers are on
	// all other ports, which take turns.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Client string `json:"client,omitempty"`
	// stateless are test frames to the port of the client meanwhile (RFC 8239 section 6): the streams of the
	// profile that go to this port send them from before the first request until after the last byte. Absent
	// means that no test frames are sent.
	// +optional
	Stateless *StatelessTraffic `json:"stateless,omitempty"`
}

// StatelessTraffic describes test frames that are sent next to connections.
type StatelessTraffic struct {
	// load is the share of the line rate that the pattern of the profile gives the port of the client: 20% of a
	// pair of ports of 10G is 2 Gbit/s.
	// +required
	Load LoadAmount `json:"load"`
	// frameSize of these frames in bytes, with FCS.
	// +optional
	// +kubebuilder:default=1518
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9216
	FrameSize int32 `json:"frameSize,omitempty"`
}

// DefaultBlockSize is the number of bytes that each server sends if a test gives none.
const DefaultBlockSize = 8_000_000

// IncastSummary is the result of an incast with one number of servers.
type IncastSummary struct {
	// congestionControl that was in force at the servers.
	// +required
	// +kubebuilder:validation:MaxLength=15
	CongestionControl string `json:"congestionControl"`
	// mtu of the hosts in bytes.
	// +required
	MTU int32 `json:"mtu"`
	// iterations that were finished.
	// +required
	Iterations int64 `json:"iterations"`
	// bytes that all servers together sent in an iteration, without headers.
	// +required
	Bytes int64 `json:"bytes"`
	// goodputBitsPerSecond is the number of useful bits per second: all bytes over the sum of the completion
	// times.
	// +required
	GoodputBitsPerSecond int64 `json:"goodputBitsPerSecond"`
	// completion is the distribution of the times from the first request of an iteration to the last byte.
	// +required
	Completion CompletionTimes `json:"completion"`
	// retransmissions is the number of segments that the servers sent again, in all iterations.
	// +required
	Retransmissions int64 `json:"retransmissions"`
	// timeouts is the number of times that a retransmission timer of a server expired, in all iterations.
	// +required
	Timeouts int64 `json:"timeouts"`
	// retransmissionsByServer has the retransmissions of each connection.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	RetransmissionsByServer []int64 `json:"retransmissionsByServer,omitempty"`
	// timeoutsByServer has the timeouts of each connection.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	TimeoutsByServer []int64 `json:"timeoutsByServer,omitempty"`
	// deviceDrops is the number of packets that the device dropped towards the client. Absent where the bed's
	// device does not count them.
	// +optional
	DeviceDrops *int64 `json:"deviceDrops,omitempty"`
	// receivedBytes and receivedPackets are the counters of the interface of the client, with headers.
	// +required
	ReceivedBytes int64 `json:"receivedBytes"`
	// receivedPackets is described at receivedBytes.
	// +required
	ReceivedPackets int64 `json:"receivedPackets"`
	// collapsed reports whether the goodput is below half of the goodput with the smallest number of servers.
	// Absent in the row with the smallest number.
	// +optional
	Collapsed *bool `json:"collapsed,omitempty"`
	// collapsedFrom is the smallest number of servers from which on, up to the one of the row, the goodput has
	// collapsed with each number. Absent if it has not collapsed in the row.
	// +optional
	CollapsedFrom *int64 `json:"collapsedFrom,omitempty"`
	// skewAvgNs and skewMaxNs are the time between the servers that began first and last in an iteration, in
	// nanoseconds.
	// +required
	SkewAvgNs int64 `json:"skewAvgNs"`
	// skewMaxNs is described at skewAvgNs.
	// +required
	SkewMaxNs int64 `json:"skewMaxNs"`
	// sendBufferBytes and receiveBufferBytes are the largest socket buffers of the servers and of the client at
	// the end.
	// +optional
	SendBufferBytes int64 `json:"sendBufferBytes,omitempty"`
	// receiveBufferBytes is described at sendBufferBytes.
	// +optional
	ReceiveBufferBytes int64 `json:"receiveBufferBytes,omitempty"`
	// windowLimitedPPM is the part of the time in which servers had data and the receive window of the client
	// kept them from sending, in parts per million.
	// +optional
	WindowLimitedPPM int64 `json:"windowLimitedPPM,omitempty"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
	// stateless are the test frames that went to the port of the client meanwhile. Absent without them.
	// +optional
	Stateless *StatelessFrames `json:"stateless,omitempty"`
}

// StatelessFrames are test frames that went to the port of a client next to its connections, and the shares of both
// in what the port carried.
type StatelessFrames struct {
	// loadPPM is the intended load in parts per million of line rate.
	// +required
	LoadPPM int64 `json:"loadPPM"`
	// frameSize in bytes, with FCS.
	// +required
	FrameSize int32 `json:"frameSize"`
	// offeredFramesPerSecond is the rate at which frames left the tester.
	// +required
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// sent is the number of frames that were sent, received the number that arrived at the client's port, and lost
	// the number that did not.
	// +required
	Sent int64 `json:"sent"`
	// received is described at sent.
	// +required
	Received int64 `json:"received"`
	// lost is described at sent.
	// +required
	Lost int64 `json:"lost"`
	// lossPPM is the share of lost frames among the sent ones in parts per million.
	// +required
	LossPPM int64 `json:"lossPPM"`
	// latency of the frames that arrived. Absent if no frame was timed.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// bitsPerSecond is the rate of the frames that the port of the client carried, with FCS and without preamble and
	// gap, in the time in which they were sent.
	// +required
	BitsPerSecond int64 `json:"bitsPerSecond"`
	// tcpBitsPerSecond is the same for the packets of the connections, including headers and segments that came twice.
	// +required
	TCPBitsPerSecond int64 `json:"tcpBitsPerSecond"`
	// sharePPM is the share of the frames in both, in parts per million.
	// +required
	SharePPM int64 `json:"sharePPM"`
	// tcpSegmentsLost is the number of segments that the servers sent and the client did not receive, by the
	// counters of their connections.
	// +required
	TCPSegmentsLost int64 `json:"tcpSegmentsLost"`
}

// CompletionTimes is a distribution of times in nanoseconds.
type CompletionTimes struct {
	// avgNs is the mean.
	// +required
	AvgNs int64 `json:"avgNs"`
	// p50Ns is the median.
	// +required
	P50Ns int64 `json:"p50Ns"`
	// p99Ns is the smallest time that is not below 99 % of all.
	// +required
	P99Ns int64 `json:"p99Ns"`
	// maxNs is the maximum.
	// +required
	MaxNs int64 `json:"maxNs"`
}
