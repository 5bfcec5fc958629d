package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConnectionsFigure names the figure of a connections test.
//
// +kubebuilder:validation:Enum=SetUpRate;Capacity;TearDownRate
type ConnectionsFigure string

const (
	// ConnectionsSetUpRate is the highest rate at which all connections are established: maximum connection
	// establishment rate of RFC 9693, TCP connections per second of RFC 9411.
	ConnectionsSetUpRate ConnectionsFigure = "SetUpRate"
	// ConnectionsCapacity is the largest number of connections that are established together: connection tracking table
	// capacity of RFC 9693, concurrent TCP connection capacity of RFC 9411.
	ConnectionsCapacity ConnectionsFigure = "Capacity"
	// ConnectionsTearDownRate is the highest rate at which all connections are closed by both sides.
	ConnectionsTearDownRate ConnectionsFigure = "TearDownRate"
)

// ConnectionsProtocol names the protocol of connections.
//
// +kubebuilder:validation:Enum=TCP;UDP
type ConnectionsProtocol string

const (
	// ConnectionsTCP are connections that both sides open and close.
	ConnectionsTCP ConnectionsProtocol = "TCP"
	// ConnectionsUDP are entries in the table of the device, for requests and answers between two addresses with their ports.
	// The first request with its answer makes an entry, and the device removes it after a time.
	ConnectionsUDP ConnectionsProtocol = "UDP"
)

// ConnectionsTest opens connections between hosts through the device, verifies each, and closes ones of TCP. No test
// frames are sent: a test makes one row, for all frame sizes.
//
// +kubebuilder:validation:XValidation:rule="self.protocol != 'UDP' || self.measure != 'TearDownRate'",message="measure: connections of UDP have no end, since the device removes them after a time: give SetUpRate or Capacity, or protocol TCP"
// +kubebuilder:validation:XValidation:rule="self.protocol != 'UDP' || self.measure != 'Capacity' || duration(self.waitTime) > duration('0s')",message="waitTime: the device removes connections of UDP only after a time: give more than its timeout for them, so that the second trial finds an empty table"
// +kubebuilder:validation:XValidation:rule="self.minimumRate <= self.maximumRate",message="maximumRate is below minimumRate: give a range"
type ConnectionsTest struct {
	// measure is the figure of the test.
	// +required
	Measure ConnectionsFigure `json:"measure"`
	// protocol of the connections. One of UDP is established by a request and its answer. It is verified by a datagram of the
	// server to the address from which the request came, and by a further request. It has no end: TearDownRate is for TCP only.
	// +optional
	// +kubebuilder:default=TCP
	Protocol ConnectionsProtocol `json:"protocol,omitempty"`
	// connections is the number of connections of a trial. For Capacity it is the number that is attempted: give more than
	// the device is expected to hold.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=200000
	Connections int32 `json:"connections,omitempty"`
	// rate is the number of connections per second that are opened where the rate is not searched: for Capacity and
	// TearDownRate.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Rate int32 `json:"rate,omitempty"`
	// minimumRate is the lowest number of connections per second of a search.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MinimumRate int32 `json:"minimumRate,omitempty"`
	// maximumRate is the highest number of connections per second of a search.
	// +optional
	// +kubebuilder:default=100000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaximumRate int32 `json:"maximumRate,omitempty"`
	// resolution is the distance in connections per second between the highest rate that passed and the lowest that failed at which a
	// search ends.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Resolution int32 `json:"resolution,omitempty"`
	// clients is the number of hosts that open connections, each with an address and 64,000 ports.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Clients int32 `json:"clients,omitempty"`
	// servers is the number of hosts that answer.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Servers int32 `json:"servers,omitempty"`
	// client is the name of the port of the clients. Absent means the first port of the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Client string `json:"client,omitempty"`
	// server is the name of the port of the servers. Absent means the first other port of the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Server string `json:"server,omitempty"`
	// timeout bounds the establishment of a connection, each answer on it, and its end. TCP sends its first packet again
	// after 1 s and 3 s; requests of UDP are not sent again.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('5m')",message="timeout: give 100ms to 5m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// waitTime is the pause before each trial but the first, in which the device forgets closed connections, and ones of UDP.
	// Capacity with UDP needs one.
	// +optional
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="waitTime: give 0s to 1h"
	WaitTime *metav1.Duration `json:"waitTime,omitempty"`
}

// ConnectionsSummary is the result of a connections test. The counts are the ones of the trial with the figure, or of the
// one with the lowest rate if none passed.
type ConnectionsSummary struct {
	// measure is the figure that was asked for.
	// +required
	Measure ConnectionsFigure `json:"measure"`
	// protocol of the connections; absent for TCP.
	// +optional
	Protocol ConnectionsProtocol `json:"protocol,omitempty"`
	// setUpRate is the highest rate in connections per second at which all connections were established and verified, and no
	// segment was sent again.
	// +optional
	SetUpRate *int64 `json:"setUpRate,omitempty"`
	// capacity is the largest number of connections that were established and verified together.
	// +optional
	Capacity *int64 `json:"capacity,omitempty"`
	// capacityReached reports whether the device refused or lost further connections. Otherwise it holds at least as many.
	// +optional
	CapacityReached bool `json:"capacityReached,omitempty"`
	// tearDownRate is the highest rate in connections per second at which all connections were closed by both sides, and no segment
	// was sent again.
	// +optional
	TearDownRate *int64 `json:"tearDownRate,omitempty"`
	// failedRate is the lowest rate that failed; absent if none did.
	// +optional
	FailedRate int64 `json:"failedRate,omitempty"`
	// trials of the search.
	// +optional
	Trials int32 `json:"trials,omitempty"`
	// unsteady reports whether the same rate or number had different answers.
	// +optional
	Unsteady bool `json:"unsteady,omitempty"`
	// attempted is the number of connections that the clients began to open. It is the sum of established, refused and timedOut.
	// +required
	Attempted int64 `json:"attempted"`
	// established is the number of connections that the clients saw established: with UDP their first request was answered. It is
	// the sum of verified, reset, unanswered and wrong.
	// +required
	Established int64 `json:"established"`
	// refused connections were answered by a reset or an ICMP error.
	// +required
	Refused int64 `json:"refused"`
	// timedOut connections had no answer in time.
	// +required
	TimedOut int64 `json:"timedOut"`
	// verified connections had the right answer of the right server when they were established, and again when all
	// were. With TCP it is the sum of closed, closeReset and closeTimedOut. With UDP these are 0, and the server reached the client
	// before it asked again.
	// +required
	Verified int64 `json:"verified"`
	// reset connections ended before the clients closed them.
	// +required
	Reset int64 `json:"reset"`
	// unanswered connections had no answer to a request in time.
	// +required
	Unanswered int64 `json:"unanswered"`
	// wrong connections had the answer of another server, or to another request, or a translated address that changed.
	// +required
	Wrong int64 `json:"wrong"`
	// closed connections were closed by both sides in order.
	// +required
	Closed int64 `json:"closed"`
	// closeReset connections were reset while they were closed.
	// +required
	CloseReset int64 `json:"closeReset"`
	// closeTimedOut connections were not closed in time.
	// +required
	CloseTimedOut int64 `json:"closeTimedOut"`
	// openRetransmissions and closeRetransmissions are the segments that hosts sent again while connections were opened and
	// verified, and while they were closed.
	// +required
	OpenRetransmissions int64 `json:"openRetransmissions"`
	// closeRetransmissions is described at openRetransmissions.
	// +required
	CloseRetransmissions int64 `json:"closeRetransmissions"`
	// setUpP50Ns, setUpP99Ns and setUpMaxNs are the times from the first packet of a connection until the client saw it
	// established: with UDP until the answer to its first request.
	// +optional
	SetUpP50Ns int64 `json:"setUpP50Ns,omitempty"`
	// setUpP99Ns is described at setUpP50Ns.
	// +optional
	SetUpP99Ns int64 `json:"setUpP99Ns,omitempty"`
	// setUpMaxNs is described at setUpP50Ns.
	// +optional
	SetUpMaxNs int64 `json:"setUpMaxNs,omitempty"`
	// openNs and closeNs are the times from the first connection that was opened or closed to the last one.
	// +required
	OpenNs int64 `json:"openNs"`
	// closeNs is described at openNs.
	// +required
	CloseNs int64 `json:"closeNs"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
}
