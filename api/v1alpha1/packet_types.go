package v1alpha1

// EthernetPacket describes frames without a network layer.
type EthernetPacket struct {
	// hostsPerPort is the number of hosts behind every port: successive frames walk through
	// pseudorandom source and destination addresses of the ports (RFC 4814 section 4.2), the
	// same in every run.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HostsPerPort int32 `json:"hostsPerPort,omitempty"`
}

// CustomPacket describes frames byte by byte.
type CustomPacket struct {
	// hex are the bytes of the frame behind its two hardware addresses and the tags of
	// vlan, from the EtherType on, in hexadecimal digits; white space does not count.
	// They are sent as they are, with the lengths and checksums that they have. The
	// payload follows up to the tester's signature, which is the last 20 bytes before
	// the FCS. `nodrop frame-from-pcap` prints the bytes of a captured frame. 2 to 1500
	// bytes.
	// +required
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9a-fA-F]{2}[ \\n\\t]*)+$')",message="hex has something else than pairs of hexadecimal digits: write every byte as two digits, such as 0800 45 00"
	Hex string `json:"hex"`
}

// VLANTag is an IEEE 802.1Q tag.
type VLANTag struct {
	// id of the VLAN, 1 to 4094.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	ID int32 `json:"id"`
	// priority code point, 0 to 7.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	Priority int32 `json:"priority,omitempty"`
	// service is the service VLAN that the VLAN is in (IEEE 802.1ad): a second tag, in
	// front of this one.
	// +optional
	Service *ServiceTag `json:"service,omitempty"`
}

// ServiceTag is the outer tag of two (IEEE 802.1ad).
type ServiceTag struct {
	// id of the service VLAN, 1 to 4094.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	ID int32 `json:"id"`
	// priority code point, 0 to 7.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	Priority int32 `json:"priority,omitempty"`
}

// Tunnel carries the packet in another one of the same family, from the address of the
// port that sends to that of the port that receives.
//
// +kubebuilder:validation:ExactlyOneOf=vxlan;geneve;gre;gtpu
type Tunnel struct {
	// vxlan carries Ethernet over UDP (RFC 7348). The headers are 50 bytes longer with
	// ipv4, 70 with ipv6.
	// +optional
	VXLAN *VirtualNetwork `json:"vxlan,omitempty"`
	// geneve carries Ethernet over UDP (RFC 8926), without options. The headers are as
	// long as the headers of vxlan.
	// +optional
	GENEVE *VirtualNetwork `json:"geneve,omitempty"`
	// gre carries the packet over IP (RFC 2784), without a key. The headers are 24 bytes
	// longer with ipv4, 44 with ipv6.
	// +optional
	GRE *GRETunnel `json:"gre,omitempty"`
	// gtpu carries the packet over UDP (3GPP TS 29.281), without extensions. The headers
	// are 36 bytes longer with ipv4, 56 with ipv6.
	// +optional
	GTPU *GTPUTunnel `json:"gtpu,omitempty"`
}

// VirtualNetwork is the network of an Ethernet frame in a tunnel.
type VirtualNetwork struct {
	// vni is the identifier of the network, 0 to 16777215.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777215
	VNI int32 `json:"vni"`
}

// GRETunnel has no settings.
type GRETunnel struct{}

// GTPUTunnel is the tunnel of a user of a mobile network.
type GTPUTunnel struct {
	// teid identifies the endpoint, 0 to 4294967295.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	TEID int64 `json:"teid"`
}

// MPLSStack is a stack of labels in front of the packet (RFC 3032).
type MPLSStack struct {
	// labels of the stack, the outermost first. Labels below 16 have meanings of
	// their own.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:XValidation:rule="self >= 16 && self <= 1048575",messageExpression="'%d is not a label that can be given out: give 16 to 1048575'.format([self])"
	Labels []int32 `json:"labels"`
}

// PayloadPattern is the content of the payload of frames.
//
// +kubebuilder:validation:Enum=Zeros;Ones;Alternating;Incrementing;Random
type PayloadPattern string

// The patterns of payloads.
const (
	PayloadZeros        PayloadPattern = "Zeros"
	PayloadOnes         PayloadPattern = "Ones"
	PayloadAlternating  PayloadPattern = "Alternating"
	PayloadIncrementing PayloadPattern = "Incrementing"
	PayloadRandom       PayloadPattern = "Random"
)

// PayloadPatterns are all of them.
func PayloadPatterns() []PayloadPattern {
	return []PayloadPattern{PayloadZeros, PayloadOnes, PayloadAlternating, PayloadIncrementing, PayloadRandom}
}

// UDP ports of a packet that names none, which the schema fills in only where udp is given:
// a source above those that services use, and the discard port. RFC 2544 appendix C.2.6.4
// has the echo port, from which a host would answer.
const (
	udpSourcePort      = 20001
	udpDestinationPort = 9
	// The ports of RoCEv2: the first port that is not assigned, and its own.
	roceSourcePort      = 49152
	roceDestinationPort = 4791
)

// UDPPorts are the ranges of UDP ports that the frames have; without a port where they
// have no UDP.
func (p *Packet) UDPPorts() (source, destination PortRange) {
	if p.IPv4 == nil && p.IPv6 == nil {
		return source, destination
	}
	if r := p.RoCEv2; r != nil {
		source, destination = PortRange{First: roceSourcePort, Count: 1}, PortRange{First: roceDestinationPort, Count: 1}
		if r.SourcePorts != nil {
			source = *r.SourcePorts
		}
		return source, destination
	}
	source, destination = PortRange{First: udpSourcePort, Count: 1}, PortRange{First: udpDestinationPort, Count: 1}
	if p.UDP == nil {
		return source, destination
	}
	if r := p.UDP.SourcePorts; r != nil {
		source = *r
	}
	if r := p.UDP.DestinationPorts; r != nil {
		destination = *r
	}
	return source, destination
}
