package plan

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// refused are objects, and what the refusal must say.
type refused map[string]struct {
	objects *objects
	want    []string
}

func (tests refused) run(t *testing.T) {
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			refusal(t, tc.objects, tc.want)
		})
	}
}

func TestValidateRefusesPatterns(t *testing.T) {
	partial := func(ports int32, p v1alpha1.PartialMeshPattern) *objects {
		return pattern(ports, v1alpha1.Pattern{PartialMesh: &p})
	}
	fan := func(p v1alpha1.FanOutPattern) *objects { return pattern(4, v1alpha1.Pattern{FanOut: &p}) }
	mixed := func(p v1alpha1.MixedClassPattern) *objects { return pattern(4, v1alpha1.Pattern{MixedClass: &p}) }
	nToN := func(ports int32, p v1alpha1.NToNPattern) *objects { return pattern(ports, v1alpha1.Pattern{NToN: &p}) }
	overIPv6 := func(o *objects) *objects {
		o.profile.Spec.Packet, o.profile.Spec.FrameSizes = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}, []int32{86}
		return o
	}
	refused{
		"two patterns": {pattern(4, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}, FullMesh: &v1alpha1.FullMeshPattern{}}), []string{
			"TrafficProfile/profile.spec.pattern: Required", "exactly one pattern", "pairs, fullMesh, partialMesh, fanOut, nToN"}},
		"no pattern": {pattern(4, v1alpha1.Pattern{}), []string{"TrafficProfile/profile.spec.pattern: Required"}},
		"more streams than there are numbers": {pattern(257, v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}), []string{
			"pattern: Invalid value: 65792: the pattern makes 65792 streams on the 257 ports of test bed bed", "at most 65536", "fewer ports"}},
		"more than pairs on cables": {router(func(o *objects) {
			port := o.bed.Spec.Ports[0]
			port.Name, port.Addresses, port.Gateways = "p3", []string{"198.18.3.2/24"}, []string{"198.18.3.1"}
			o.bed.Spec.Ports = append(o.bed.Spec.Ports, port)
			o.bed.Spec.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}
			o.profile.Spec.Pattern = v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}
		}), []string{"pattern: Invalid value: 3: the 3 ports of test bed bed are cabled to each other two by two", "use the pattern pairs"}},
		"unknown sender of a side": {partial(4, v1alpha1.PartialMeshPattern{Senders: []string{"p9"}}), []string{
			`partialMesh.senders[0]: Invalid value: "p9": test bed bed has no port of this name: its 4 ports are p1 to p4`}},
		"port on both sides": {partial(4, v1alpha1.PartialMeshPattern{Senders: []string{"p1", "p2"}, Receivers: []string{"p3", "p2"}}), []string{
			`partialMesh.receivers[1]: Invalid value: "p2": port p2 stands in senders already`}},
		"port on both sides by count": {partial(4, v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](2), Receivers: []string{"p2"}}), []string{
			`partialMesh.receivers[0]: Invalid value: "p2": port p2 is one of the first 2 of test bed bed`}},
		"nobody receives": {partial(2, v1alpha1.PartialMeshPattern{Senders: []string{"p1", "p2"}}), []string{
			"partialMesh.senders: Invalid value: 2: all 2 ports of test bed bed send"}},
		"too many senders": {partial(4, v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](4)}), []string{
			"partialMesh.senderCount: Invalid value: 4: test bed bed has 4 ports", "give 1 to 3"}},
		"too many receivers": {partial(4, v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](2), ReceiverCount: ptr[int32](3)}), []string{
			"partialMesh.receiverCount: Invalid value: 3: 2 of the 4 ports of test bed bed do not send: give 1 to 2"}},
		"senders given twice": {partial(4, v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](2), Senders: []string{"p1"}}), []string{
			"partialMesh: Required", "exactly one of senders and senderCount"}},
		"receivers given twice": {partial(4, v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](2), ReceiverCount: ptr[int32](1), Receivers: []string{"p3"}}), []string{
			"partialMesh: Required", "at most one of receivers and receiverCount"}},
		"unknown sender": {fan(v1alpha1.FanOutPattern{Sender: "eth7"}), []string{`fanOut.sender: Invalid value: "eth7"`, "p1 to p4"}},
		"too many groups": {fan(v1alpha1.FanOutPattern{Groups: 65_537}), []string{
			"fanOut.groups: Invalid value: 65537: every group is a stream", "at most 65536 streams", "give 1 to 65536 groups"}},
		"no group": {fan(v1alpha1.FanOutPattern{FirstGroup: "198.18.0.1"}), []string{
			`fanOut.firstGroup: Invalid value: "198.18.0.1": give a multicast group`}},
		"group of the link": {fan(v1alpha1.FanOutPattern{FirstGroup: "224.0.0.9"}), []string{
			`fanOut.firstGroup: Invalid value: "224.0.0.9"`, "never forwarded", "224.0.1.0"}},
		"group of the other family": {fan(v1alpha1.FanOutPattern{FirstGroup: "ff1e::1"}), []string{
			`fanOut.firstGroup: Invalid value: "ff1e::1": packet is ipv4`}},
		"IPv6 group of the link": {overIPv6(fan(v1alpha1.FanOutPattern{FirstGroup: "ff02::1"})), []string{
			`fanOut.firstGroup: Invalid value: "ff02::1"`, "wider scope"}},
		"groups beyond the last": {fan(v1alpha1.FanOutPattern{FirstGroup: "239.255.255.0", Groups: 257}), []string{
			`fanOut.firstGroup: Invalid value: "239.255.255.0": 257 groups from here up`, "give a lower group"}},
		"unknown sender of two classes": {mixed(v1alpha1.MixedClassPattern{Sender: "eth7"}), []string{`mixedClass.sender: Invalid value: "eth7"`, "p1 to p4"}},
		"too many groups with unicast": {mixed(v1alpha1.MixedClassPattern{Groups: 65_534}), []string{
			"mixedClass.groups: Invalid value: 65534: every group is a stream", "at most 65536 streams", "give 1 to 65533 groups"}},
		"two classes without network layer": {func() *objects {
			o := mixed(v1alpha1.MixedClassPattern{})
			o.profile.Spec.Packet = v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}}
			return o
		}(), []string{`pattern.mixedClass: Invalid value: "ethernet"`, "give packet ipv4 or ipv6"}},
		"long stagger": {nToN(101, v1alpha1.NToNPattern{Stagger: &metav1.Duration{Duration: 2 * time.Millisecond}}), []string{
			`nToN.stagger: Invalid value: "2ms": the last of the 101 ports of test bed bed would begin 200ms late: give at most 1ms`}},
		"groups without network layer": {func() *objects {
			o := nToN(4, v1alpha1.NToNPattern{})
			o.profile.Spec.Packet = v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}}
			return o
		}(), []string{`pattern.nToN: Invalid value: "ethernet"`, "give packet ipv4 or ipv6"}},
		"latency across nodes in a mesh": {router(func(o *objects) {
			o.bed.Spec.Ports[1].Node = "lab-2"
			o.profile.Spec.Pattern = v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}
		}), []string{`spec.tests[1].latency: Invalid value: "latency"`, "from p1 on node lab-1 to p2 on node lab-2"}},
	}.run(t)
}

func TestValidateRefusesPackets(t *testing.T) {
	with := func(packet v1alpha1.Packet, sizes ...int32) *objects {
		o := pattern(2, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}})
		o.profile.Spec.Packet, o.profile.Spec.FrameSizes = packet, sizes
		return o
	}
	ip := &v1alpha1.IPPacket{}
	ether := &v1alpha1.EthernetPacket{}
	refused{
		"VLAN in 64 bytes": {with(v1alpha1.Packet{IPv4: ip, VLAN: &v1alpha1.VLANTag{ID: 1}}, 64), []string{
			"frameSizes[0]: Invalid value: 64: these headers need at least 68 bytes (14 Ethernet, 4 VLAN, 20 IPv4, 8 UDP, 18 signature, 4 FCS): raise the frame size to 68"}},
		"labels in 86 bytes": {with(v1alpha1.Packet{IPv6: ip, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16, 17}}}, 86), []string{
			"frameSizes[0]: Invalid value: 86", "at least 94 bytes (14 Ethernet, 8 MPLS, 40 IPv6"}},
		"less than Ethernet": {with(v1alpha1.Packet{Ethernet: ether}, 60), []string{
			"frameSizes[0]: Invalid value: 60", "at least 64 bytes (the least of Ethernet;"}},
		"UDP without network layer": {with(v1alpha1.Packet{Ethernet: ether, UDP: &v1alpha1.UDPPacket{}}, 64), []string{"packet.udp: Forbidden", "no network layer"}},
		"DSCP without network layer": {with(v1alpha1.Packet{Ethernet: ether, DSCP: ptr[int32](1)}, 64), []string{
			"packet.dscp: Forbidden", "give ipv4 or ipv6"}},
		"precedence beside DSCP": {with(v1alpha1.Packet{IPv4: ip, DSCP: ptr[int32](1), IPPrecedence: ptr[int32](2)}, 64), []string{
			"packet.ipPrecedence: Invalid value: 2: dscp is 1", "give one of them"}},
		"DSCP of 64":      {with(v1alpha1.Packet{IPv4: ip, DSCP: ptr[int32](64)}, 64), []string{"packet.dscp: Invalid value: 64: give 0 to 63"}},
		"precedence of 8": {with(v1alpha1.Packet{IPv4: ip, IPPrecedence: ptr[int32](8)}, 64), []string{"packet.ipPrecedence: Invalid value: 8: give 0 to 7"}},
		"VLAN 0":          {with(v1alpha1.Packet{IPv4: ip, VLAN: &v1alpha1.VLANTag{}}, 68), []string{"packet.vlan.id: Invalid value: 0: give 1 to 4094"}},
		"service VLAN 0":  {with(v1alpha1.Packet{IPv4: ip, VLAN: &v1alpha1.VLANTag{ID: 1, Service: &v1alpha1.ServiceTag{}}}, 72), []string{"packet.vlan.service.id: Invalid value: 0: give 1 to 4094"}},
		"VXLAN in 113 bytes": {with(v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{VXLAN: &v1alpha1.VirtualNetwork{}}}, 113), []string{
			"frameSizes[0]: Invalid value: 113: these headers need at least 114 bytes (14 Ethernet, 20 IPv4, 8 UDP, 8 VXLAN, 14 Ethernet, 20 IPv4, 8 UDP, 18 signature, 4 FCS): raise the frame size to 114"}},
		"two tunnels": {with(v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}, GTPU: &v1alpha1.GTPUTunnel{}}}, 128), []string{
			"packet.tunnel: Required value: give exactly one of vxlan, geneve, gre and gtpu"}},
		"a long VNI": {with(v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{GENEVE: &v1alpha1.VirtualNetwork{VNI: 1 << 24}}}, 128), []string{
			"packet.tunnel.geneve.vni: Invalid value: 16777216: give 0 to 16777215"}},
		"RoCEv2 in 82 bytes": {with(v1alpha1.Packet{IPv4: ip, RoCEv2: &v1alpha1.RoCEv2Packet{}}, 82), []string{
			"frameSizes[0]: Invalid value: 82: these headers need at least 86 bytes (14 Ethernet, 20 IPv4, 8 UDP, 12 transport header, 20 signature, 4 CRC steering, 4 invariant CRC, 4 FCS): raise the frame size to 86"}},
		"RoCEv2 without whole words": {with(v1alpha1.Packet{IPv6: ip, RoCEv2: &v1alpha1.RoCEv2Packet{}}, 106, 1280), []string{
			"frameSizes[1]: Invalid value: 1280: a frame of 1280 bytes has no payload of whole words of 4 bytes, which packets of RoCEv2 carry: change the frame size to 1278 or 1282"}},
		"RoCEv2 with UDP in a tunnel": {with(v1alpha1.Packet{IPv4: ip, RoCEv2: &v1alpha1.RoCEv2Packet{Opcode: "RDSend", PartitionKey: ptr[int32](65536), DestinationQP: ptr[int32](-1), SourcePorts: &v1alpha1.PortRange{}},
			UDP: &v1alpha1.UDPPacket{}, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}}, 130), []string{
			"packet.udp: Forbidden: rocev2 has its own UDP ports: remove udp, and give ranges in rocev2.sourcePorts", "packet.tunnel: Forbidden: packets of rocev2 are sent without a tunnel",
			`packet.rocev2.opcode: Unsupported value: "RDSend"`, "packet.rocev2.partitionKey: Invalid value: 65536: give 0 to 65535", "packet.rocev2.destinationQP: Invalid value: -1: give 0 to 16777215",
			"packet.rocev2.sourcePorts.first: Invalid value: 0"}},
		"CNPs without ECN": {with(v1alpha1.Packet{IPv4: ip, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16}}, RoCEv2: &v1alpha1.RoCEv2Packet{CNP: &v1alpha1.RoCEv2CNP{
			IntervalMicroseconds: ptr[int32](-1), DSCP: ptr[int32](64), QueuePair: ptr[int32](1 << 24)}}}, 134), []string{
			"packet.rocev2.cnp: Forbidden: no device marks packets without ecn", "packet.rocev2.cnp: Forbidden: packets behind labels are not answered",
			"packet.rocev2.cnp.intervalMicroseconds: Invalid value: -1: give 0 to 1000000", "packet.rocev2.cnp.dscp: Invalid value: 64: give 0 to 63",
			"packet.rocev2.cnp.queuePair: Invalid value: 16777216: give 0 to 16777215"}},
		"CNPs to groups": {func() *objects {
			o := pattern(3, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{}})
			o.profile.Spec.Packet, o.profile.Spec.FrameSizes = v1alpha1.Packet{IPv4: ip, ECN: v1alpha1.ECT0, RoCEv2: &v1alpha1.RoCEv2Packet{CNP: &v1alpha1.RoCEv2CNP{}}}, []int32{130}
			return o
		}(), []string{"packet.rocev2.cnp: Forbidden: the pattern is multicast, and packets to groups are not answered"}},
		"RoCEv2 without network layer": {with(v1alpha1.Packet{Ethernet: ether, RoCEv2: &v1alpha1.RoCEv2Packet{}, ECN: v1alpha1.ECT0}, 130), []string{
			"packet.rocev2: Forbidden", "packet.ecn: Forbidden", "give ipv4 or ipv6"}},
		"ECN in custom bytes": {with(v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "0800"}, ECN: v1alpha1.ECT0}, 128), []string{"packet.ecn: Forbidden: the bytes of custom are sent as they are"}},
		"ECN of CE":           {with(v1alpha1.Packet{IPv4: ip, ECN: "CE"}, 128), []string{`packet.ecn: Unsupported value: "CE": supported values: "ECT0", "ECT1"`}},
		"ECN in a tunnel": {with(v1alpha1.Packet{IPv4: ip, ECN: v1alpha1.ECT0, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}}, 128), []string{
			"packet.ecn: Forbidden: a device marks the outer header of a tunnel, and only the inner header is counted: remove ecn or tunnel"}},
		"custom bytes in 69 bytes": {with(v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "0800" + strings.Repeat(" 00", 32)}}, 69), []string{
			"these headers need at least 70 bytes (14 Ethernet, 32 custom, 20 signature, 4 FCS): raise the frame size to 70"}},
		"custom bytes with a DSCP": {with(v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "080"}, DSCP: ptr[int32](1)}, 128), []string{"packet.dscp: Forbidden", "packet.custom.hex", "two hexadecimal digits"}},
		"custom bytes to groups": {router(func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "0800"}}
			o.profile.Spec.Pattern = v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 1}}
		}), []string{"pattern.fanOut", "packet is custom"}},
		"a tunnel of Ethernet": {with(v1alpha1.Packet{Ethernet: ether, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}}, 128), []string{"packet.tunnel: Forbidden", "no network layer"}},
		"a tunnel to groups": {func() *objects {
			o := pattern(3, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{}})
			o.profile.Spec.Packet, o.profile.Spec.FrameSizes = v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}}, []int32{128}
			return o
		}(), []string{"packet.tunnel: Forbidden: the pattern is multicast, and a tunnel goes from one port to one other"}},
		"the tags of a port in 68 bytes": {router(func(o *objects) {
			o.profile.Spec.FrameSizes = []int32{68}
			o.bed.Spec.Ports[1].VLAN = &v1alpha1.VLANTag{ID: 1, Service: &v1alpha1.ServiceTag{ID: 2}}
		}), []string{"frameSizes[0]: Invalid value: 68: these headers need at least 72 bytes (14 Ethernet, 4 service VLAN, 4 VLAN"}},
		"VLAN 5000 of a port": {router(func(o *objects) {
			o.bed.Spec.Ports[0].VLAN = &v1alpha1.VLANTag{ID: 5000}
		}), []string{"TestBed/bed.spec.ports[0].vlan.id: Invalid value: 5000: give 1 to 4094"}},
		"reserved label": {with(v1alpha1.Packet{IPv4: ip, MPLS: &v1alpha1.MPLSStack{Labels: []int32{3}}}, 68), []string{"packet.mpls.labels[0]: Invalid value: 3: give 16 to 1048575"}},
		"five labels":    {with(v1alpha1.Packet{IPv4: ip, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16, 16, 16, 16, 16}}}, 128), []string{"packet.mpls.labels: Invalid value: 5: give a stack of 1 to 4 labels"}},
		"ethernet through a router": {router(func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{Ethernet: ether}
		}), []string{`packet.ethernet: Invalid value: "p2": port p1 with 198.18.1.2/24 and port p2 with 198.18.2.2/24 of test bed bed are in different networks`, "are not routed"}},
	}.run(t)
}

// Frames have the tags of the port that sends them, unless the profile has its own.
func TestVLANsOfPorts(t *testing.T) {
	change := func(o *objects) {
		o.profile.Spec.FrameSizes = []int32{72}
		o.bed.Spec.Ports[0].VLAN = &v1alpha1.VLANTag{ID: 100, Priority: 5}
		o.bed.Spec.Ports[1].VLAN = &v1alpha1.VLANTag{ID: 200, Service: &v1alpha1.ServiceTag{ID: 2000, Priority: 1}}
	}
	names := []string{"VLAN 100", "VLAN 200 of service VLAN 2000"}
	p := mustBuild(t, router(change))
	for _, s := range p.Streams {
		if got := s.Headers.VLANs; got.String() != names[s.Tx] || p.Ports[s.Tx].VLANs.String() != names[s.Tx] {
			t.Errorf("from %s in %v, want %s", p.Ports[s.Tx].Name, got, names[s.Tx])
		}
	}
	if v := p.Ports[1].VLANs; v[0].Priority != 1 || p.Ports[0].VLANs[0].Priority != 5 {
		t.Errorf("priorities of %+v", v)
	}
	p = mustBuild(t, router(func(o *objects) {
		change(o)
		o.profile.Spec.Packet.VLAN = &v1alpha1.VLANTag{ID: 7}
	}))
	for _, s := range p.Streams {
		if s.Headers.VLANs.String() != "VLAN 7" || p.Ports[s.Tx].VLANs.String() != "VLAN 7" {
			t.Errorf("from %s in %v, want that of the profile", p.Ports[s.Tx].Name, s.Headers.VLANs)
		}
	}
}

// A tunnel goes from port to port, and has the ranges of hosts inside.
// Custom bytes go to the gateway of their family if they are an IP packet, else to an
// address that no station has.
func TestCustomOfAProfile(t *testing.T) {
	for hex, gateway := range map[string]string{"0800 45": "198.18.1.1", "88f7 00": ""} {
		s := mustBuild(t, router(func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: hex}, Payload: v1alpha1.PayloadOnes}
		})).Streams[0]
		toGateway := s.Gateway.IsValid() && s.Gateway.String() == gateway && s.Headers.DstMAC == traffic.MAC{}
		toNobody := gateway == "" && !s.Gateway.IsValid() && s.Headers.DstMAC == firstMAC(1)
		if !toGateway && !toNobody || len(s.Headers.Custom) != 3 || s.Headers.Payload != frame.Ones || s.Headers.SrcIP.IsValid() {
			t.Errorf("%s: %+v", hex, s)
		}
	}
}

func TestTunnelOfAProfile(t *testing.T) {
	p := mustBuild(t, router(func(o *objects) {
		o.profile.Spec.FrameSizes = []int32{256}
		o.profile.Spec.Packet = v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{HostsPerPort: 10}, Tunnel: &v1alpha1.Tunnel{VXLAN: &v1alpha1.VirtualNetwork{VNI: 5000}}}
	}))
	h := p.Streams[0].Headers
	want := frame.Tunnel{Kind: frame.VXLAN, ID: 5000, Src: netip.MustParseAddr("198.18.1.2"), Dst: netip.MustParseAddr("198.18.2.2"), SrcMAC: firstMAC(0), DstMAC: firstMAC(1)}
	if h.Tunnel != want || h.SrcIPCount != 10 || h.SrcIP != want.Src {
		t.Errorf("headers %+v, want the tunnel %+v around 10 hosts", h, want)
	}
}

func TestValidateAcceptsPackets(t *testing.T) {
	o := router(func(o *objects) {
		for i := range o.bed.Spec.Ports { // a bridge, and ports without addresses
			o.bed.Spec.Ports[i].Gateways, o.bed.Spec.Ports[i].Addresses = nil, nil
		}
		o.profile.Spec.Packet = v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{HostsPerPort: 4096}, VLAN: &v1alpha1.VLANTag{ID: 4094}}
	})
	p := mustBuild(t, o)
	if s := p.Streams[0]; s.Headers.SrcIP.IsValid() || s.Headers.SrcMACCount != 4096 || s.Gateway.IsValid() {
		t.Errorf("stream %+v", s)
	}
}

// What an engine cannot do is refused, whichever engine it is.
func TestValidateRefusesWhatTheEngineCannot(t *testing.T) {
	o := pattern(4, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{}})
	ports, _ := Ports(&o.bed)
	engine := traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 65536}}
	errs := validatePattern(Sections(&o.profile)[0], &o.bed, ports, engine)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), `TrafficProfile/profile.spec.pattern.fanOut: Invalid value: "sim": engine sim of test bed bed cannot join multicast groups: choose a bed with another engine, or another pattern`) {
		t.Errorf("groups: %v", errs)
	}
	engine.Multicast = true
	if errs := validatePattern(Sections(&o.profile)[0], &o.bed, ports, engine); len(errs) > 0 {
		t.Errorf("groups: %v", errs)
	}
	o.profile.Spec.Packet.MPLS = &v1alpha1.MPLSStack{Labels: []int32{16}}
	errs = validateLabels(Sections(&o.profile)[0], &o.bed, engine)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "TrafficProfile/profile.spec.packet.mpls.labels: Invalid value: [16]: engine sim of test bed bed does not send labelled frames") {
		t.Errorf("labels: %v", errs)
	}
	engine.MPLS = true
	if errs := validateLabels(Sections(&o.profile)[0], &o.bed, engine); len(errs) > 0 {
		t.Errorf("labels: %v", errs)
	}
}
