package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MessageRateTest searches the highest rate of multicast messages that all subscribers receive without loss. Publishers send
// numbered UDP datagrams to groups in turn, and each subscriber joins all groups. A test makes one row.
//
// +kubebuilder:validation:XValidation:rule="self.minimumRate <= self.maximumRate",message="maximumRate is below minimumRate: give a range"
type MessageRateTest struct {
	// publishers is the number of hosts that send. They share the rate equally.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Publishers int32 `json:"publishers,omitempty"`
	// groups is the number of multicast groups. Each publisher sends to all of them in turn.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Groups int32 `json:"groups,omitempty"`
	// firstGroup is the address of the first group. The others follow it.
	// +optional
	// +kubebuilder:default="225.1.1.1"
	FirstGroup GroupAddress `json:"firstGroup,omitempty"`
	// subscribers is the number of hosts that receive, each all groups.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Subscribers int32 `json:"subscribers,omitempty"`
	// messageSize is the number of bytes of a datagram, without the headers of UDP and IP.
	// +optional
	// +kubebuilder:default=500
	// +kubebuilder:validation:Minimum=32
	// +kubebuilder:validation:Maximum=9170
	MessageSize int32 `json:"messageSize,omitempty"`
	// minimumRate is the lowest number of messages per second of the search, of all publishers together.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	MinimumRate int32 `json:"minimumRate,omitempty"`
	// maximumRate is the highest number of messages per second of the search.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	MaximumRate int32 `json:"maximumRate,omitempty"`
	// resolution is the distance in messages per second between the highest rate that passed and the lowest that failed at which the
	// search ends.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	Resolution int32 `json:"resolution,omitempty"`
	// trialDuration is the time for which publishers send at a rate.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('10m')",message="trialDuration: give 100ms to 10m"
	TrialDuration *metav1.Duration `json:"trialDuration,omitempty"`
	// joinTime is the longest time from the memberships until a datagram of each group is at each subscriber.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="joinTime: give 1s to 10m"
	JoinTime *metav1.Duration `json:"joinTime,omitempty"`
	// receiveBuffer is the number of bytes that each subscriber asks for as the buffer of its socket (SO_RCVBUF).
	// +optional
	// +kubebuilder:default=4194304
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741823
	ReceiveBuffer int32 `json:"receiveBuffer,omitempty"`
	// mtu of the hosts in bytes.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9198
	MTU int32 `json:"mtu,omitempty"`
	// publisherPort is the name of the port of the publishers. Absent means the first port of the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	PublisherPort string `json:"publisherPort,omitempty"`
	// subscriberPorts are the names of the ports of the subscribers, which take turns. Absent means all other ports.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	SubscriberPorts []string `json:"subscriberPorts,omitempty"`
}

// MessageRateSummary is the result of a search for a rate of messages.
type MessageRateSummary struct {
	// rate is the highest rate in messages per second at which each subscriber received all messages; 0 if none passed.
	// +required
	Rate int64 `json:"rate"`
	// failedRate is the lowest rate at which the device lost messages; absent if it lost none.
	// +optional
	FailedRate int64 `json:"failedRate,omitempty"`
	// trials of the search.
	// +required
	Trials int32 `json:"trials"`
	// unsteady reports whether the same rate had different answers.
	// +optional
	Unsteady bool `json:"unsteady,omitempty"`
	// passed has the counts at rate; absent if no rate passed.
	// +optional
	Passed *MessageCounts `json:"passed,omitempty"`
	// failed has the counts at failedRate, or of the trial that ended the search since the tester was the limit; absent if no trial
	// failed.
	// +optional
	Failed *MessageCounts `json:"failed,omitempty"`
}

// MessageCounts are the counts of a trial.
type MessageCounts struct {
	// rate that was asked for, in messages per second.
	// +required
	Rate int64 `json:"rate"`
	// offeredRate is the rate at which the publishers sent, in messages per second.
	// +required
	OfferedRate int64 `json:"offeredRate"`
	// sent is the number of messages of all publishers. Each subscriber has to receive all of them.
	// +required
	Sent int64 `json:"sent"`
	// lost is the number of messages that did not arrive, of all subscribers.
	// +required
	Lost int64 `json:"lost"`
	// deviceLost is the part of lost that the tester cannot have dropped.
	// +required
	DeviceLost int64 `json:"deviceLost"`
	// duplicates is the number of further copies, of all subscribers.
	// +required
	Duplicates int64 `json:"duplicates"`
	// reordered is the number of messages that arrived after one with a higher number of the same publisher and group (RFC 4737), of
	// all subscribers.
	// +required
	Reordered int64 `json:"reordered"`
	// socketDrops is the number of datagrams that full sockets of the subscribers dropped.
	// +required
	SocketDrops int64 `json:"socketDrops"`
	// interfaceDrops is the number of packets that interfaces and processors of the tester dropped.
	// +required
	InterfaceDrops int64 `json:"interfaceDrops"`
	// p50Ns, p99Ns and maxNs are times from sending a message to its arrival at the application, on one clock: the highest of
	// all subscribers.
	// +optional
	P50Ns int64 `json:"p50Ns,omitempty"`
	// p99Ns is described at p50Ns.
	// +optional
	P99Ns int64 `json:"p99Ns,omitempty"`
	// maxNs is described at p50Ns.
	// +optional
	MaxNs int64 `json:"maxNs,omitempty"`
	// longestLagNs is the longest time by which a message was sent too late.
	// +optional
	LongestLagNs int64 `json:"longestLagNs,omitempty"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
	// subscribers have the counts of each subscriber.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Subscribers []SubscriberCounts `json:"subscribers"`
	// groups are the groups with losses, the first 100 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Groups []GroupLoss `json:"groups,omitempty"`
}

// SubscriberCounts are the counts of a subscriber.
type SubscriberCounts struct {
	// address of the subscriber.
	// +required
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address"`
	// port of the bed on which the subscriber is.
	// +required
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port"`
	// received is the number of distinct messages.
	// +required
	Received int64 `json:"received"`
	// lost is the number of the other messages.
	// +required
	Lost int64 `json:"lost"`
	// duplicates and reordered are described at the counts of the trial.
	// +required
	Duplicates int64 `json:"duplicates"`
	// reordered is described at duplicates.
	// +required
	Reordered int64 `json:"reordered"`
	// socketDrops is the number of datagrams that its full socket dropped.
	// +required
	SocketDrops int64 `json:"socketDrops"`
	// receiveBuffer is the buffer of its socket in bytes, as the kernel reports it: twice the number that was asked for.
	// +required
	ReceiveBuffer int64 `json:"receiveBuffer"`
	// p99Ns and maxNs are times from sending a message to its arrival.
	// +optional
	P99Ns int64 `json:"p99Ns,omitempty"`
	// maxNs is described at p99Ns.
	// +optional
	MaxNs int64 `json:"maxNs,omitempty"`
}

// GroupLoss is the loss of a multicast group.
type GroupLoss struct {
	// group is the address of the group.
	// +required
	// +kubebuilder:validation:MaxLength=45
	Group string `json:"group"`
	// lost is the number of its messages that did not arrive, of all subscribers.
	// +required
	Lost int64 `json:"lost"`
	// subscribers is the number of subscribers with a loss.
	// +required
	Subscribers int32 `json:"subscribers"`
}
