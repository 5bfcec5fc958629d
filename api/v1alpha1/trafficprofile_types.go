package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrafficProfile describes the test traffic: frame sizes or mixes, the pattern of senders and
// receivers, and the headers. The Benchmark defines the load.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tp,categories=nodrop
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TrafficProfile struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec describes the traffic. It cannot be changed; make another profile.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a TrafficProfile cannot be changed, since results refer to it: make another profile with another name"
	Spec TrafficProfileSpec `json:"spec"`
}

// TrafficProfileList is a list of traffic profiles.
//
// +kubebuilder:object:root=true
type TrafficProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrafficProfile `json:"items"`
}

// TrafficProfileSpec describes sizes, pattern and headers.
//
// +kubebuilder:validation:XValidation:rule="has(self.flows) ? !has(self.pattern) && !has(self.packet) : has(self.pattern) && has(self.packet)",message="spec needs pattern and packet, or flows in place of both: give pattern and packet for one kind of traffic, or give only flows"
// +kubebuilder:validation:XValidation:rule="!has(self.flows) || !has(self.routing)",message="routing is given with flows, whose frames do not go to the networks of routes: remove routing, or give pattern and packet in place of flows"
// +kubebuilder:validation:XValidation:rule="!has(self.flows) || self.flows.exists(f, !has(f.frameSize) && !has(f.frameMix)) || (!has(self.frameSizes) && !has(self.frameMixes))",message="every flow has a size of its own, so that no flow uses frameSizes and frameMixes: remove them, or remove frameSize or frameMix of a flow"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.packet.ipv6) || !has(self.frameSizes) || self.frameSizes.all(s, s >= 86))",messageExpression="'spec.frameSizes has %d: an IPv6/UDP frame with its signature needs at least 86 bytes (14 Ethernet, 40 IPv6, 8 UDP, 20 signature, 4 FCS)'.format([self.frameSizes.filter(s, s < 86)[0]])"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || ((!has(self.packet.vlan) && !has(self.packet.mpls)) || !has(self.frameSizes) || self.frameSizes.all(s, s >= (has(self.packet.ipv6) ? 86 : has(self.packet.ipv4) ? 64 : 36) + (has(self.packet.vlan) ? 4 : 0) + (has(self.packet.mpls) ? 4 * size(self.packet.mpls.labels) : 0)))",messageExpression="'spec.frameSizes has %d: these headers with a VLAN tag or MPLS labels, 4 bytes each, need at least %d bytes: raise the frame size'.format([self.frameSizes.filter(s, s < (has(self.packet.ipv6) ? 86 : has(self.packet.ipv4) ? 64 : 36) + (has(self.packet.vlan) ? 4 : 0) + (has(self.packet.mpls) ? 4 * size(self.packet.mpls.labels) : 0))[0], (has(self.packet.ipv6) ? 86 : has(self.packet.ipv4) ? 64 : 36) + (has(self.packet.vlan) ? 4 : 0) + (has(self.packet.mpls) ? 4 * size(self.packet.mpls.labels) : 0)])"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.packet.ipv6) || has(self.frameSizes) || has(self.frameMixes))",message="spec.frameSizes is not given, and its default begins with 64: an IPv6/UDP frame with its signature needs at least 86 bytes, so give frameSizes or frameMixes"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || !has(self.packet.rocev2) || has(self.frameSizes) || has(self.frameMixes)",message="spec.frameSizes is not given, and its default begins with 64: a frame of RoCEv2 needs at least 86 bytes, and a payload of whole words of 4 bytes, so give frameSizes such as 86, 130, 258, 514, 1026, 1282 and 1518"
// +kubebuilder:validation:XValidation:rule="!has(self.frameSizes) || size(self.frameSizes) > 0 || (has(self.frameMixes) && size(self.frameMixes) > 0)",message="spec.frameSizes is empty and there is no frameMixes, so that nothing would be sent: leave frameSizes out for the sizes of RFC 2544, or give at least one size or mix"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.packet.ethernet) || (!has(self.pattern.fanOut) && !has(self.pattern.nToN)))",message="pattern is multicast and packet is ethernet, but groups are IP addresses: give packet ipv4 or ipv6, or another pattern"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.pattern.fanOut) || !has(self.pattern.fanOut.firstGroup) || !isIP(self.pattern.fanOut.firstGroup) || (ip(self.pattern.fanOut.firstGroup).family() == 6) == has(self.packet.ipv6))",messageExpression="'firstGroup is ' + self.pattern.fanOut.firstGroup + ', which is not of the family of packet: give a group of that family, or leave firstGroup out'"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.pattern.nToN) || !has(self.pattern.nToN.firstGroup) || !isIP(self.pattern.nToN.firstGroup) || (ip(self.pattern.nToN.firstGroup).family() == 6) == has(self.packet.ipv6))",messageExpression="'firstGroup is ' + self.pattern.nToN.firstGroup + ', which is not of the family of packet: give a group of that family, or leave firstGroup out'"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.routing) || !has(self.packet.ethernet))",message="routing is given and packet is ethernet, whose frames are not routed: remove routing, or give packet ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.packet) || !has(self.pattern) || (!has(self.routing) || has(self.pattern.pairs) || has(self.pattern.fullMesh) || has(self.pattern.partialMesh))",message="routing is given and pattern is multicast, whose groups no session announces: remove routing, or give the pattern pairs, fullMesh or partialMesh"
type TrafficProfileSpec struct {
	// frameSizes in bytes, with the 4-byte FCS and without preamble and
	// inter-frame gap; each size is tested for itself. Without frameSizes and
	// frameMixes it is the list of RFC 2544 section 9.1 for Ethernet: 64, 128, 256,
	// 512, 1024, 1280, 1518. Without frameSizes and with frameMixes only the mixes
	// are tested.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'frameSizes has %d more than once: name every size once'.format([self.filter(v, !self.exists_one(w, w == v))[0]])"
	// +kubebuilder:validation:items:XValidation:rule="self >= 64",messageExpression="'a frame of %d bytes is too small: an Ethernet frame with IPv4, UDP and its signature needs at least 64 bytes with FCS: raise it to 64'.format([self])"
	// +kubebuilder:validation:items:XValidation:rule="self <= 9216",messageExpression="'a frame of %d bytes is too large: the largest is 9216, so lower it'.format([self])"
	FrameSizes []int32 `json:"frameSizes,omitempty"`
	// frameMixes are mixes of frame sizes (IMIX). Each is tested after frameSizes as if
	// it were one more size.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="[self.map(v, v.name)].all(names, names.all(n, names.exists_one(m, m == n)))",messageExpression="'frameMixes has the name ' + self.map(v, v.name).filter(n, !self.exists_one(w, w.name == n))[0] + ' more than once: give every mix a name of its own'"
	FrameMixes []FrameMix `json:"frameMixes,omitempty"`
	// pattern defines which port sends to which.
	// +optional
	Pattern Pattern `json:"pattern,omitzero"`
	// packet describes the headers.
	// +optional
	Packet Packet `json:"packet,omitzero"`
	// flows are several kinds of traffic at once, in place of pattern and packet. Every
	// flow has a share of the load of each port that sends it. A row measures all of them
	// together: a frame that is lost of any flow is a lost frame.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="[self.map(v, v.name)].all(names, names.all(n, names.exists_one(m, m == n)))",messageExpression="'flows has the name ' + self.map(v, v.name).filter(n, !self.exists_one(w, w.name == n))[0] + ' more than once: give every flow a name of its own'"
	Flows []TrafficFlow `json:"flows,omitempty"`
	// routing contains the routes that the sessions of the bed announce to the device.
	// +optional
	Routing *ProfileRouting `json:"routing,omitempty"`
}

// Pattern defines which port sends to which: exactly one of its members is given.
//
// +kubebuilder:validation:ExactlyOneOf=pairs;fullMesh;partialMesh;fanOut;nToN;mixedClass
type Pattern struct {
	// pairs joins the bed's first port with its second, the third with the fourth,
	// and so on.
	// +optional
	Pairs *PairsPattern `json:"pairs,omitempty"`
	// fullMesh sends from every port to all others in turn, one frame at a time (RFC
	// 2889 section 5.1).
	// +optional
	FullMesh *FullMeshPattern `json:"fullMesh,omitempty"`
	// partialMesh sends from every port of one side to every port of another side
	// (RFC 2889 sections 5.2 to 5.4).
	// +optional
	PartialMesh *PartialMeshPattern `json:"partialMesh,omitempty"`
	// fanOut sends multicast from one port to all others (RFC 3918).
	// +optional
	FanOut *FanOutPattern `json:"fanOut,omitempty"`
	// nToN sends multicast from every port to all others.
	// +optional
	NToN *NToNPattern `json:"nToN,omitempty"`
	// mixedClass sends multicast and unicast from one port to all others in one trial
	// (RFC 3918 section 4.1).
	// +optional
	MixedClass *MixedClassPattern `json:"mixedClass,omitempty"`
}

// PairsPattern is port-pair traffic (RFC 2544).
type PairsPattern struct {
	// bidirectional sends in both directions of every pair at once (RFC 2544
	// section 14); otherwise only the first port of a pair sends.
	// +optional
	// +kubebuilder:default=true
	Bidirectional *bool `json:"bidirectional,omitempty"`
}

// Packet describes the headers of the frame: one of ipv4, ipv6, ethernet and custom,
// and the fields that go with it.
//
// +kubebuilder:validation:ExactlyOneOf=ipv4;ipv6;ethernet;custom
// +kubebuilder:validation:XValidation:rule="!has(self.custom) || (!has(self.udp) && !has(self.tunnel) && !has(self.mpls) && !has(self.dscp) && !has(self.ipPrecedence) && !has(self.ecn) && !has(self.rocev2))",message="udp, tunnel, mpls, dscp, ipPrecedence, ecn or rocev2 is given with custom, whose bytes are sent as they are: remove it, and write it into hex"
// +kubebuilder:validation:XValidation:rule="!has(self.ethernet) || !has(self.udp)",message="udp is given with ethernet, whose frames have no network layer to carry it: remove udp, or give ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.ethernet) || !has(self.rocev2)",message="rocev2 is given with ethernet, whose frames have no UDP to carry it: remove rocev2, or give ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.rocev2) || (!has(self.udp) && !has(self.tunnel))",message="udp or tunnel is given with rocev2, which has its own UDP ports and is sent without a tunnel: remove it, and give ranges in rocev2.sourcePorts"
// +kubebuilder:validation:XValidation:rule="!has(self.rocev2) || !has(self.rocev2.cnp) || (has(self.ecn) && !has(self.mpls))",message="rocev2.cnp is given without ecn, so that no device marks packets, or with mpls, behind whose labels packets are not answered: give ecn and remove mpls, or remove cnp"
// +kubebuilder:validation:XValidation:rule="!has(self.ethernet) || !has(self.ecn)",message="ecn is given with ethernet, whose frames have no IP header: remove ecn, or give ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.ecn) || !has(self.tunnel)",message="ecn is given with tunnel, whose outer header a device marks, and only the inner header is counted: remove ecn or tunnel"
// +kubebuilder:validation:XValidation:rule="!has(self.ethernet) || !has(self.tunnel)",message="tunnel is given with ethernet, whose frames have no packet that it could carry: remove tunnel, or give ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.ethernet) || (!has(self.dscp) && !has(self.ipPrecedence))",message="dscp or ipPrecedence is given with ethernet, whose frames have no IP header: remove it, or give ipv4 or ipv6"
// +kubebuilder:validation:XValidation:rule="!has(self.dscp) || !has(self.ipPrecedence)",messageExpression="'dscp is %d and ipPrecedence is %d, which are the same bits of the header: give one of them'.format([self.dscp, self.ipPrecedence])"
type Packet struct {
	// ipv4 sends IPv4 packets.
	// +optional
	IPv4 *IPPacket `json:"ipv4,omitempty"`
	// ipv6 sends IPv6 packets (RFC 5180).
	// +optional
	IPv6 *IPPacket `json:"ipv6,omitempty"`
	// ethernet sends frames without a network layer, with pseudorandom hardware
	// addresses (RFC 4814).
	// +optional
	Ethernet *EthernetPacket `json:"ethernet,omitempty"`
	// custom sends headers that are given byte by byte.
	// +optional
	Custom *CustomPacket `json:"custom,omitempty"`
	// udp sets the UDP ports, with ipv4 and ipv6. Without it every frame goes from
	// port 20001 to the discard port, 9.
	// +optional
	UDP *UDPPacket `json:"udp,omitempty"`
	// rocev2 sends RDMA over Converged Ethernet, version 2 (InfiniBand Architecture
	// Specification, annex A17), with ipv4 and ipv6 and in place of udp: packets to UDP port
	// 4791 with a Base Transport Header and a right invariant CRC. The frames belong to no
	// connection: a network card drops them.
	// +optional
	RoCEv2 *RoCEv2Packet `json:"rocev2,omitempty"`
	// vlan tags the frames (IEEE 802.1Q), which makes the headers 4 bytes longer. It
	// takes the place of the VLANs that the ports of a bed are in.
	// +optional
	VLAN *VLANTag `json:"vlan,omitempty"`
	// tunnel carries the packets of ipv4 or ipv6 in others.
	// +optional
	Tunnel *Tunnel `json:"tunnel,omitempty"`
	// mpls puts a stack of labels in front of the packet (RFC 3032), 4 bytes each.
	// +optional
	MPLS *MPLSStack `json:"mpls,omitempty"`
	// dscp is the differentiated services code point of the packets, 0 to 63 (RFC
	// 2474).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DSCP *int32 `json:"dscp,omitempty"`
	// ipPrecedence is the precedence of the packets, 0 to 7 (RFC 791): the upper
	// three bits of the code point.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	IPPrecedence *int32 `json:"ipPrecedence,omitempty"`
	// ecn is the codepoint by which packets say that their transport reacts to congestion
	// marks (RFC 3168 section 5): ECT0 or ECT1. A device may mark them with CE, congestion
	// experienced, in place of dropping them; rows then have the received frames with the mark.
	// Without it the packets have Not-ECT, and no device marks them.
	// +optional
	ECN ECNCodepoint `json:"ecn,omitempty"`
	// payload is the pattern that fills the frames behind the tester's signature: Zeros,
	// Ones (0xff), Alternating (0xaa and 0x55 in turns), Incrementing (0, 1, up to 255, and
	// again) or Random (pseudorandom, the same in every frame and every run). Without it
	// the payload is zeros. A frame over IP that has less than 10 bytes left has zeros
	// there.
	// +optional
	Payload PayloadPattern `json:"payload,omitempty"`
	// trackMicroflows counts the frames of every combination of addresses and ports that the
	// frames walk through, so that rows tell which of them the device delivered. The ranges
	// step together, from frame to frame: their combinations are as many as the least common
	// multiple of their sizes. A port counts at most 16,777,216, of all streams that it
	// receives, in 8 bytes each.
	// +optional
	TrackMicroflows bool `json:"trackMicroflows,omitempty"`
}

// ECNCodepoint is a codepoint of Explicit Congestion Notification (RFC 3168 section 5).
//
// +kubebuilder:validation:Enum=ECT0;ECT1
type ECNCodepoint string

// The codepoints that senders set.
const (
	ECT0 ECNCodepoint = "ECT0" // 10 in binary
	ECT1 ECNCodepoint = "ECT1" // 01 in binary
)

// RoCEv2Packet describes the Base Transport Header of RoCEv2 (InfiniBand Architecture
// Specification, section 9.2), and the UDP ports. The packet sequence number (PSN) is the number
// of the frame in its stream, from 0 in every trial.
type RoCEv2Packet struct {
	// opcode of the packets, without extended headers: RCSendOnly and RCWriteMiddle of a
	// reliable connection, or UCSendOnly of an unreliable one.
	// +optional
	// +kubebuilder:default=RCSendOnly
	Opcode RoCEv2Opcode `json:"opcode,omitempty"`
	// partitionKey of the packets, 0 to 65535. Without it, it is the default partition, 65535.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	PartitionKey *int32 `json:"partitionKey,omitempty"`
	// destinationQP is the destination queue pair, 0 to 16777215.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777215
	DestinationQP *int32 `json:"destinationQP,omitempty"`
	// sourcePorts is the range of UDP source ports that successive frames walk through: by
	// them devices spread frames over links.
	// +optional
	// +kubebuilder:default={first: 49152, count: 1}
	SourcePorts *PortRange `json:"sourcePorts,omitempty"`
	// cnp lets the receiving ports answer packets that arrive with the mark CE by congestion
	// notification packets (CNP), as network cards do. It needs ecn. Without it no port answers.
	// The sender does not lower its rate.
	// +optional
	CNP *RoCEv2CNP `json:"cnp,omitempty"`
}

// RoCEv2CNP describes congestion notification packets (CNP; InfiniBand Architecture Specification,
// annex A17.9.3).
type RoCEv2CNP struct {
	// intervalMicroseconds is the shortest time in microseconds between two CNPs of a receiving
	// port to the frames of one sending port, 0 to 1,000,000. With 0 every marked packet has one.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	IntervalMicroseconds *int32 `json:"intervalMicroseconds,omitempty"`
	// dscp is the differentiated services code point of the CNPs, 0 to 63.
	// +optional
	// +kubebuilder:default=48
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DSCP *int32 `json:"dscp,omitempty"`
	// queuePair is the queue pair of the sender, to which the CNPs go, 0 to 16777215.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777215
	QueuePair *int32 `json:"queuePair,omitempty"`
}

// RoCEv2Opcode is an operation of the Base Transport Header.
//
// +kubebuilder:validation:Enum=RCSendOnly;RCWriteMiddle;UCSendOnly
type RoCEv2Opcode string

// The opcodes of packets without extended headers.
const (
	RCSendOnly    RoCEv2Opcode = "RCSendOnly"
	RCWriteMiddle RoCEv2Opcode = "RCWriteMiddle"
	UCSendOnly    RoCEv2Opcode = "UCSendOnly"
)

// IPPacket describes the network layer.
type IPPacket struct {
	// hostsPerPort is the number of hosts behind every port: source and destination addresses
	// count up from the port's own address, frame by frame.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	HostsPerPort int32 `json:"hostsPerPort,omitempty"`
}

// UDPPacket describes the transport layer.
type UDPPacket struct {
	// sourcePorts is the range that successive frames walk through.
	// +optional
	// +kubebuilder:default={first: 20001, count: 1}
	SourcePorts *PortRange `json:"sourcePorts,omitempty"`
	// destinationPorts is the range that successive frames walk through.
	// +optional
	// +kubebuilder:default={first: 9, count: 1}
	DestinationPorts *PortRange `json:"destinationPorts,omitempty"`
}

// PortRange is a range of UDP ports.
//
// +kubebuilder:validation:XValidation:rule="self.first + self.count <= 65536",messageExpression="'ports %d and the next %d go beyond 65535: lower first or count'.format([self.first, self.count - 1])"
type PortRange struct {
	// first port of the range, 1 to 65535.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	First int32 `json:"first"`
	// count of ports in the range.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Count int32 `json:"count,omitempty"`
}
