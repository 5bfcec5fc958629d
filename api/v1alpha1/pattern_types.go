package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FullMeshPattern is fully meshed traffic (RFC 2889 section 5.1).
type FullMeshPattern struct{}

// PartialMeshPattern is partially meshed traffic (RFC 2889 sections 5.2 to 5.4).
// One port on one side makes it one-to-many or many-to-one, both directions make
// it backbone traffic.
//
// +kubebuilder:validation:ExactlyOneOf=senders;senderCount
// +kubebuilder:validation:AtMostOneOf=receivers;receiverCount
type PartialMeshPattern struct {
	// senders are the names of the ports of the sending side, each once, in the order
	// of their turns.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	Senders []string `json:"senders,omitempty"`
	// senderCount takes the bed's first ports as the sending side.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1023
	SenderCount *int32 `json:"senderCount,omitempty"`
	// receivers are the names of the ports of the other side, each once, in the order
	// of their turns; without them and without receiverCount it is all other ports of
	// the bed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	Receivers []string `json:"receivers,omitempty"`
	// receiverCount takes the first of the bed's ports that do not send as the other
	// side.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1023
	ReceiverCount *int32 `json:"receiverCount,omitempty"`
	// bidirectional makes the other side send to the sending side as well.
	// +optional
	// +kubebuilder:default=false
	Bidirectional *bool `json:"bidirectional,omitempty"`
}

// FanOutPattern is multicast from one port to all others (RFC 3918).
type FanOutPattern struct {
	// sender is the name of the port that sends; by default the bed's first port.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Sender string `json:"sender,omitempty"`
	// groups is the number of multicast groups to which the port sends in turn; every other
	// port joins all of them.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65536",messageExpression="'groups is %d: every group is a stream, and an engine counts up to 65536 streams: give 1 to 65536'.format([self])"
	Groups int32 `json:"groups,omitempty"`
	// firstGroup is the first group, the others count up from it. The default is
	// 225.1.1.1 with ipv4 and ff1e::2001:2:8000:1 with ipv6.
	// +optional
	FirstGroup GroupAddress `json:"firstGroup,omitempty"`
}

// MixedClassPattern is multicast and unicast from one port to all others at once (RFC
// 3918 section 4.1): the frames of the two classes alternate, those of multicast go
// through the groups in turn, and those of unicast through the other ports.
type MixedClassPattern struct {
	// sender is the name of the port that sends; by default the bed's first port.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Sender string `json:"sender,omitempty"`
	// groups is the number of multicast groups to which the port sends in turn; every other
	// port joins all of them.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'groups is %d: every group and every receiver is a stream, and an engine counts up to 65536 streams: give 1 to 65535'.format([self])"
	Groups int32 `json:"groups,omitempty"`
	// firstGroup is the first group, the others count up from it. The default is
	// 225.1.1.1 with ipv4 and ff1e::2001:2:8000:1 with ipv6.
	// +optional
	FirstGroup GroupAddress `json:"firstGroup,omitempty"`
	// multicastFrames to unicastFrames is the ratio of multicast to unicast frames that
	// the port sends, the same at every load.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MulticastFrames int32 `json:"multicastFrames,omitempty"`
	// unicastFrames is the other part of the ratio.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	UnicastFrames int32 `json:"unicastFrames,omitempty"`
}

// NToNPattern is multicast from every port to all others, each with a group of
// its own.
type NToNPattern struct {
	// firstGroup is the group of the bed's first port. The groups of the other ports count up
	// from it. The default is 225.1.1.1 with ipv4 and ff1e::2001:2:8000:1 with ipv6.
	// +optional
	FirstGroup GroupAddress `json:"firstGroup,omitempty"`
	// stagger is the delay between the starts of two successive ports, so that the frames of
	// all ports do not arrive at once.
	// +optional
	// +kubebuilder:default="64us"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('100ms')",messageExpression="'stagger is ' + self + ': give 0s to 100ms, a number with one of the units ns, us, ms, s, m and h'"
	Stagger *metav1.Duration `json:"stagger,omitempty"`
}

// GroupAddress is a multicast group that devices forward, such as 225.1.1.1 or
// ff1e::1.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=39
// +kubebuilder:validation:XValidation:rule="isIP(self) && (ip(self).family() == 4 ? cidr('224.0.0.0/4').containsIP(ip(self)) : cidr('ff00::/8').containsIP(ip(self))) && !ip(self).isLinkLocalMulticast()",messageExpression="'\"' + self + '\" is not a multicast group that devices forward: give an address of 224.0.1.0 to 239.255.255.255, or of ff00::/8 with a scope beyond the link, such as 225.1.1.1 or ff1e::1'"
type GroupAddress string
