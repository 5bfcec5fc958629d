package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BulkTest moves a data set from a sender to a receiver over TCP, or as much data as arrives in a time, over one or several
// connections. No test frames are sent: the test makes one row, for all frame sizes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !has(self.duration)",message="give size, the bytes of a data set, or duration, for which data is sent, and not both"
type BulkTest struct {
	// size is the number of bytes of the data set, which all connections move together. Absent means 5,000,000,000, unless
	// duration is given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	Size int64 `json:"size,omitempty"`
	// duration is the time for which data is sent, in place of size.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'duration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	Duration metav1.Duration `json:"duration,omitzero"`
	// connections is the number of TCP connections between the same two hosts, each with a thread at both ends.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Connections int32 `json:"connections,omitempty"`
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
	// sender is the name of the port of the sender. Absent means the first port of the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Sender string `json:"sender,omitempty"`
	// receiver is the name of the port of the receiver. Absent means the first port that is not the one of the sender.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Receiver string `json:"receiver,omitempty"`
}

// DefaultBulkSize is the number of bytes of a data set if a test gives neither size nor duration.
const DefaultBulkSize = 5_000_000_000

// BulkSummary is the result of a data set that was moved.
type BulkSummary struct {
	// congestionControl that was in force at the sender.
	// +required
	// +kubebuilder:validation:MaxLength=15
	CongestionControl string `json:"congestionControl"`
	// mtu of the hosts in bytes.
	// +required
	MTU int32 `json:"mtu"`
	// sentBytes is the number of bytes that the sender wrote, and receivedBytes the number of bytes that the receiver read,
	// without headers. They are equal if no connection was lost.
	// +required
	SentBytes int64 `json:"sentBytes"`
	// receivedBytes is described at sentBytes.
	// +required
	ReceivedBytes int64 `json:"receivedBytes"`
	// tookNs is the time from the first byte that was sent to the last byte that was received, in nanoseconds.
	// +required
	TookNs int64 `json:"tookNs"`
	// goodputBitsPerSecond is the number of useful bits per second: receivedBytes over tookNs.
	// +required
	GoodputBitsPerSecond int64 `json:"goodputBitsPerSecond"`
	// receivedByConnection has the received bytes of each connection.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	ReceivedByConnection []int64 `json:"receivedByConnection"`
	// smallestSharePPM and largestSharePPM are the smallest and the largest share of a connection in receivedBytes, in parts
	// per million.
	// +required
	SmallestSharePPM int64 `json:"smallestSharePPM"`
	// largestSharePPM is described at smallestSharePPM.
	// +required
	LargestSharePPM int64 `json:"largestSharePPM"`
	// lostConnections is the number of connections that ended before all bytes sent on them were received.
	// +required
	LostConnections int64 `json:"lostConnections"`
	// retransmissions is the number of segments that the sender sent again.
	// +required
	Retransmissions int64 `json:"retransmissions"`
	// retransmissionsByConnection has the retransmissions of each connection.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	RetransmissionsByConnection []int64 `json:"retransmissionsByConnection"`
	// timeouts is the number of times that a retransmission timer of the sender expired.
	// +required
	Timeouts int64 `json:"timeouts"`
	// senderCPUPPM and receiverCPUPPM are the processor time of the threads of an end over tookNs, in parts per million of one
	// processor: 2,000,000 are two processors. Absent where the hosts are a model.
	// +optional
	SenderCPUPPM *int64 `json:"senderCPUPPM,omitempty"`
	// receiverCPUPPM is described at senderCPUPPM.
	// +optional
	ReceiverCPUPPM *int64 `json:"receiverCPUPPM,omitempty"`
	// sendBufferBytes and receiveBufferBytes are the largest socket buffers of the sender and of the receiver at the end.
	// +optional
	SendBufferBytes int64 `json:"sendBufferBytes,omitempty"`
	// receiveBufferBytes is described at sendBufferBytes.
	// +optional
	ReceiveBufferBytes int64 `json:"receiveBufferBytes,omitempty"`
	// windowLimitedPPM is the part of the time in which connections had data and the receive window kept them from sending,
	// in parts per million.
	// +optional
	WindowLimitedPPM int64 `json:"windowLimitedPPM,omitempty"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
}
