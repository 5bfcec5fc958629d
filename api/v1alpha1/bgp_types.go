package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BedRouting is the routing protocols between the tester's ports and the device.
//
// +kubebuilder:validation:XValidation:rule="has(self.bgp) || has(self.ldp) || has(self.pim)",message="routing is empty: give bgp or ldp, pim or both, or remove routing"
// +kubebuilder:validation:XValidation:rule="!has(self.bgp) || !has(self.ldp)",message="routing has bgp and ldp: give one of them, and describe the other in a second test bed with the same device"
type BedRouting struct {
	// bgp is the BGP sessions of the ports with the device (RFC 4271).
	// +optional
	BGP BGPRouting `json:"bgp,omitzero"`
	// ldp is the LDP sessions of the ports with the device, which measure how many labels it
	// holds.
	// +optional
	LDP *LDPRouting `json:"ldp,omitempty"`
	// pim means that the device routes multicast between the ports by PIM sparse mode (RFC
	// 7761), for IPv4. The ports join groups by IGMPv3; they are not PIM routers.
	// +optional
	PIM *PIMRouting `json:"pim,omitempty"`
}

// PIMRouting is multicast routing of the device. A device that is the rendezvous point
// itself is the first and the last router of every group as well.
type PIMRouting struct {
	// rendezvousPoint of all groups, an IPv4 address that the device has a route to. Without
	// it, the device is the rendezvous point, with its IPv4 address on the first port of the
	// bed.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && ip(self).isGlobalUnicast()",messageExpression="'\"' + self + '\" is not a rendezvous point: give a unicast IPv4 address, such as 198.18.1.1'"
	RendezvousPoint string `json:"rendezvousPoint,omitempty"`
}

// BGPRouting is all BGP sessions of a bed.
type BGPRouting struct {
	// deviceASN is the AS number of the device, 1 to 4294967295.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	DeviceASN int64 `json:"deviceASN"`
	// sessions of the ports with the device. Sessions that count up from one entry are named
	// after it: p1, p1-2, p1-3.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Sessions []BGPSession `json:"sessions"`
}

// BGPFamily names an address family that a session carries (RFC 4760).
//
// +kubebuilder:validation:Enum=ipv4Unicast;ipv6Unicast;ipv4LabeledUnicast;ipv6LabeledUnicast
type BGPFamily string

const (
	// BGPIPv4Unicast is AFI 1, SAFI 1.
	BGPIPv4Unicast BGPFamily = "ipv4Unicast"
	// BGPIPv6Unicast is AFI 2, SAFI 1.
	BGPIPv6Unicast BGPFamily = "ipv6Unicast"
	// BGPIPv4LabeledUnicast is AFI 1, SAFI 4 (RFC 8277).
	BGPIPv4LabeledUnicast BGPFamily = "ipv4LabeledUnicast"
	// BGPIPv6LabeledUnicast is AFI 2, SAFI 4 (RFC 8277).
	BGPIPv6LabeledUnicast BGPFamily = "ipv6LabeledUnicast"
)

// BGPSession is one session of a port with the device, or several that differ in
// address, AS number and router ID only.
//
// +kubebuilder:validation:XValidation:rule="has(self.port) || (!has(self.address) && !has(self.deviceAddress) && !has(self.routerID))",messageExpression="'session ' + self.name + ' has no port, and so is one on every port of the bed, which have addresses of their own: give port, or leave address, deviceAddress and routerID out'"
// +kubebuilder:validation:XValidation:rule="!has(self.address) || !has(self.deviceAddress) || !isIP(self.address) || !isIP(self.deviceAddress) || ip(self.address).family() == ip(self.deviceAddress).family()",messageExpression="'address is ' + self.address + ' and deviceAddress is ' + self.deviceAddress + ': give two of one family'"
type BGPSession struct {
	// name of the session, unique in the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a session name: use lower-case letters, digits and dashes, such as p1'"
	Name string `json:"name"`
	// port of the bed that the session runs over. Without it there is one session on every
	// port of the bed, in their order, named after the session and the port: peer-p1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port,omitempty"`
	// asn is the tester's AS number, 1 to 4294967295. Further sessions count up
	// from it; with the AS number of the device all are internal (iBGP), and stay.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	ASN int64 `json:"asn"`
	// count is the number of sessions on a port. Addresses, AS numbers and router IDs of the
	// further sessions count up.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Count int32 `json:"count,omitempty"`
	// families that the session carries; ipv4Unicast without it. Unicast and labeled unicast
	// of one IP version need a session each.
	// +optional
	// +listType=set
	// +kubebuilder:default={ipv4Unicast}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="!('ipv4Unicast' in self && 'ipv4LabeledUnicast' in self) && !('ipv6Unicast' in self && 'ipv6LabeledUnicast' in self)",message="a session has unicast and labeled unicast of one IP version, which routers such as FRR refuse: give each a session of its own"
	Families []BGPFamily `json:"families,omitempty"`
	// address of the tester in the session. Without it, the address of the port: the IPv4 one
	// if the session carries a family of IPv4, and otherwise the IPv6 one.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",messageExpression="'\"' + self + '\" is not an address, such as 198.18.1.2'"
	Address string `json:"address,omitempty"`
	// deviceAddress is the device's address in the session. Without it, the gateway of the
	// port of the family of address.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",messageExpression="'\"' + self + '\" is not an address, such as 198.18.1.1'"
	DeviceAddress string `json:"deviceAddress,omitempty"`
	// routerID is the BGP identifier of the tester in the form of an IPv4 address. Without
	// it, the IPv4 address of the session or its port, and where that has none, one of
	// 198.19.0.0/16 by the number of the session.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && self != '0.0.0.0'",messageExpression="'\"' + self + '\" is not a router ID: give an IPv4 address other than 0.0.0.0, such as 198.18.1.2'"
	RouterID string `json:"routerID,omitempty"`
	// holdTime that the tester proposes: 3s to 65535s in whole seconds, or 0s for a session
	// without KEEPALIVE messages.
	// +optional
	// +kubebuilder:default="90s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && (duration(self) == duration('0s') || duration(self) >= duration('3s') && duration(self) <= duration('65535s')) && duration(self).getMilliseconds() % 1000 == 0",messageExpression="'holdTime is ' + self + ': give 0s, or 3s to 65535s in whole seconds (RFC 4271 section 4.2)'"
	HoldTime *metav1.Duration `json:"holdTime,omitempty"`
	// addPath sends and receives several paths of one prefix (RFC 7911): sets of routes with
	// the same networks are further paths of the session, and the device advertises all that
	// it has.
	// +optional
	AddPath *bool `json:"addPath,omitempty"`
	// bfd runs bidirectional forwarding detection next to the session (RFC 5881).
	// +optional
	BFD *BFD `json:"bfd,omitempty"`
	// passwordSecretRef names the password of TCP MD5 (RFC 2385) in a Secret of the lab's
	// namespace.
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`
}

// BFD is bidirectional forwarding detection of one session (RFC 5880).
type BFD struct {
	// interval between control packets, in both directions.
	// +optional
	// +kubebuilder:default="150ms"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('60s')",messageExpression="'interval is ' + self + ': give 10ms to 60s, a number with one of the units ns, us, ms, s, m and h'"
	Interval metav1.Duration `json:"interval,omitzero"`
	// multiplier is the number of missing packets after which the path counts as down.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	Multiplier int32 `json:"multiplier,omitempty"`
}

// SecretKeyReference names one key of a Secret in the lab's namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
