package plan

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// onCards gives a router's bed the engine trex on network cards, with ports on one
// layer-2 network; half of them are on each of two nodes when spread.
func onCards(ports int, spread bool) func(*objects) {
	return func(o *objects) {
		o.bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "X1"}}
		o.bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi"}}}
		o.bed.Spec.Ports = nil
		for i := range ports {
			node := "lab-1"
			if spread && i >= ports/2 {
				node = "lab-2"
			}
			o.bed.Spec.Ports = append(o.bed.Spec.Ports, v1alpha1.Port{
				Name: fmt.Sprintf("p%d", i+1), Node: node, Speed: "100G", Addresses: []string{fmt.Sprintf("198.18.1.%d/24", i+2)},
				Attachment: &v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: fmt.Sprintf("intel.com/p%d", i+1)}},
			})
		}
	}
}

// Frames are kept by the engine xdp only.
func TestValidateCapture(t *testing.T) {
	capturing := func(o *objects) { o.benchmark.Spec.Capture = &v1alpha1.Capture{Frames: 1, BytesPerFrame: 64} }
	o := router(capturing)
	if errs := Validate(&o.benchmark, &o.profile, &o.bed); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	o = router(onCards(2, false))
	capturing(o)
	want := "spec.capture: Forbidden: engine trex of test bed " + o.bed.Name + " keeps no frames: leave capture out, or choose a bed with engine xdp"
	if errs := Validate(&o.benchmark, &o.profile, &o.bed); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("%v, want %s", errs, want)
	}
}

func TestValidateAcceptsWhatTRexMeasures(t *testing.T) {
	mesh := func(o *objects) { o.profile.Spec.Pattern = v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}} }
	for name, o := range map[string]*objects{
		"pairs":                     router(onCards(2, false)),
		"pairs on each of two":      router(onCards(4, true)),
		"as many streams as can be": router(func(o *objects) { onCards(11, false)(o); mesh(o) }),
		"IPv6 with ranges": router(func(o *objects) {
			onCards(2, false)(o)
			for i := range o.bed.Spec.Ports {
				o.bed.Spec.Ports[i].Addresses = []string{fmt.Sprintf("2001:2::%d00/64", i+1)}
			}
			o.profile.Spec.FrameSizes = []int32{128}
			o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{HostsPerPort: 100}, UDP: &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: 1000, Count: 50}}}
		}),
		"throughput between nodes": router(func(o *objects) {
			onCards(2, true)(o)
			o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[:1]
		}),
		"as many streams of two servers": router(func(o *objects) {
			onCards(4, true)(o)
			o.profile.Spec.FrameMixes = []v1alpha1.FrameMix{{Name: "many"}}
			for i := range 31 {
				o.profile.Spec.FrameMixes[0].Weights = append(o.profile.Spec.FrameMixes[0].Weights, v1alpha1.FrameWeight{FrameSize: int32(100 + i), Weight: 1})
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			if errs := Validate(&o.benchmark, &o.profile, &o.bed); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestValidateRefusesWhatTRexCannot(t *testing.T) {
	mesh := v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}
	for name, tc := range map[string]struct {
		change func(*objects)
		want   []string
	}{
		"more streams than the cards count": {func(o *objects) {
			onCards(12, false)(o)
			o.profile.Spec.Pattern = mesh
		}, []string{"TrafficProfile/profile.spec.pattern: Invalid value: 132: the pattern makes 132 streams on the 12 ports of test bed bed, and engine trex takes at most 127: use a bed with fewer ports"}},
		"more streams of two servers than one counts": {func(o *objects) {
			onCards(12, true)(o)
			o.profile.Spec.Pattern = mesh
		}, []string{"Invalid value: 132: the pattern makes 132 streams on the 12 ports of test bed bed, and engine trex takes at most 127"}},
		"more streams than are timed": {func(o *objects) {
			onCards(12, false)(o)
			o.bed.Spec.Engine.TRex = &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}
			o.profile.Spec.Pattern = mesh
		}, []string{`spec.tests[1].latency: Invalid value: "latency": the pattern makes 132 streams on the 12 ports of test bed bed, and engine trex times at most 128 at once: use a profile or a bed with fewer streams, or measure throughput only`}},
		"sizes of a mix that are not timed": {func(o *objects) {
			onCards(7, false)(o)
			o.bed.Spec.Engine.TRex = &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}
			o.profile.Spec.Pattern = mesh
			o.profile.Spec.FrameMixes = []v1alpha1.FrameMix{{Name: "mix", Genome: "abcd"}}
		}, []string{`Invalid value: "latency": the pattern with the sizes of a mix makes 168 streams on the 7 ports of test bed bed`}},
		"streams of a mix": {func(o *objects) {
			onCards(8, false)(o)
			o.profile.Spec.Pattern = mesh
			o.profile.Spec.FrameMixes = []v1alpha1.FrameMix{{Name: "mix", Genome: "abc"}}
		}, []string{`Invalid value: "mix": the 3 sizes of the mix make 168 streams on the 8 ports of test bed bed, and engine trex takes at most 127`}},
		"frames without a network layer": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.Packet = v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}}
		}, []string{`TrafficProfile/profile.spec.packet: Invalid value: "ethernet": engine trex of test bed bed counts frames by their IP header, and frames of ethernet have none: give ipv4 or ipv6, or choose a bed with another engine`}},
		"labels": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.FrameSizes = []int32{128}
			o.profile.Spec.Packet.MPLS = &v1alpha1.MPLSStack{Labels: []int32{16}}
		}, []string{"engine trex of test bed bed does not send labelled frames"}},
		"two tags": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.FrameSizes = []int32{128}
			o.profile.Spec.Packet.VLAN = &v1alpha1.VLANTag{ID: 1, Service: &v1alpha1.ServiceTag{ID: 2}}
		}, []string{"packet.vlan.service.id: Invalid value: 2: engine trex of test bed bed counts frames with one tag at most: remove service, or choose a bed with another engine"}},
		"two tags of a port": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.FrameSizes = []int32{128}
			o.bed.Spec.Ports[1].VLAN = &v1alpha1.VLANTag{ID: 1, Service: &v1alpha1.ServiceTag{ID: 2}}
		}, []string{"TestBed/bed.spec.ports[1].vlan.service.id: Invalid value: 2: engine trex of test bed bed counts frames with one tag at most"}},
		"a tunnel": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.FrameSizes = []int32{128}
			o.profile.Spec.Packet.Tunnel = &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}
		}, []string{"packet.tunnel: Forbidden: engine trex of test bed bed counts frames by their outermost packet, and does not look into tunnels: remove tunnel, or choose a bed with another engine"}},
		"RoCEv2 with ECN": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.FrameSizes = []int32{130}
			o.profile.Spec.Packet.RoCEv2, o.profile.Spec.Packet.ECN = &v1alpha1.RoCEv2Packet{}, v1alpha1.ECT0
		}, []string{"packet.rocev2: Forbidden: engine trex of test bed bed does not compute the invariant CRC, which changes from frame to frame: remove rocev2, or choose a bed with engine xdp",
			"packet.ecn: Forbidden: engine trex of test bed bed does not count congestion marks: remove ecn, or choose a bed with engine xdp"}},
		"groups": {func(o *objects) {
			onCards(2, false)(o)
			o.profile.Spec.Pattern = v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 1}}
		}, []string{"engine trex of test bed bed cannot join multicast groups"}},
		"latency between nodes": {onCards(2, true), []string{
			"latency from p1 on node lab-1 to p2 on node lab-2 needs a common clock, which engine trex does not have"}},
	} {
		t.Run(name, func(t *testing.T) { refusal(t, router(tc.change), tc.want) })
	}
}

// Each need of a method has a message of its own.
func TestWhatMethodsNeed(t *testing.T) {
	all := traffic.Capabilities{Ordering: true, ArrivalTimes: true, Gaps: true, Ethernet: true}
	for want, m := range map[string]Method{
		"does not count reordered frames":                                              {Ordering: true},
		"does not tell when frames arrive, from which m follows":                       {ArrivalTimes: true},
		"does not tell where in a stream frames were lost, from which m follows":       {Gaps: true},
		"counts frames by their IP header, and m sends frames without a network layer": {Ethernet: true},
		"": {},
	} {
		m.Member = "m"
		if got := m.missing(traffic.Capabilities{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := m.missing(all); got != "" {
			t.Errorf("%q of an engine that can", got)
		}
	}
}

// A method whose streams are its own is refused where they leave a node.
func TestTopologiesBetweenNodes(t *testing.T) {
	o := router(onCards(4, true))
	ports, _ := Ports(&o.bed)
	m := Method{Member: "flow", Given: func(v1alpha1.Test) bool { return true }, Topology: &Topology{Ports: 3, Flows: [][2]int{{0, 1}, {0, 2}}}}
	defer func(before []Method) { methods = before }(methods)
	methods = []Method{m}
	o.benchmark.Spec.Tests = []v1alpha1.Test{{Name: "own"}}
	errs := validateTopologies(&o.benchmark, &o.profile, &o.bed, ports, traffic.Capabilities{})
	if want := `spec.tests[0].flow: Invalid value: "own": flow sends from p1 on node lab-1 to p3 on node lab-2 of test bed bed, and a server of engine trex counts only`; len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("%v, want %s", errs, want)
	}
	if errs := validateTopologies(&o.benchmark, &o.profile, &o.bed, ports, traffic.Capabilities{CrossHost: true}); len(errs) > 0 {
		t.Error(errs)
	}
}

// Microflows are counted by engines that can, up to the number that a port counts.
func TestValidateMicroflows(t *testing.T) {
	tracking := func(hosts, ports int32) func(*objects) {
		return func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{
				IPv4: &v1alpha1.IPPacket{HostsPerPort: hosts}, TrackMicroflows: true,
				UDP: &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: 1000, Count: ports}},
			}
		}
	}
	path := func(o *objects) string { return "TrafficProfile/" + o.profile.Name + ".spec.packet.trackMicroflows: " }
	for name, test := range map[string]struct {
		change []func(*objects)
		want   string
	}{
		"as many as can be": {[]func(*objects){tracking(64, 63_001)}, ""},
		"one port more": {[]func(*objects){tracking(250, 64_001), func(o *objects) {
			o.profile.Spec.FrameSizes, o.profile.Spec.FrameMixes = nil, []v1alpha1.FrameMix{{Name: "imix", IMIX: v1alpha1.IMIXSimple}}
		}}, "Invalid value: true: a stream from p1 has 16,000,250 microflows, with which port p2 would count 48,000,750 or more: the most is 16,777,216, which need 128 MiB: use smaller ranges, or sizes with common factors"},
		"an engine that cannot": {[]func(*objects){onCards(2, false), tracking(1, 4)}, "Forbidden: engine trex of test bed %s counts frames by streams only: remove trackMicroflows, or choose a bed with engine xdp"},
	} {
		o := router(func(o *objects) {
			for _, change := range test.change {
				change(o)
			}
		})
		errs := Validate(&o.benchmark, &o.profile, &o.bed)
		want := test.want
		if strings.Contains(want, "%s") {
			want = fmt.Sprintf(want, o.bed.Name)
		}
		switch {
		case want == "" && len(errs) > 0:
			t.Errorf("%s: %v", name, errs)
		case want != "" && (len(errs) != 1 || errs[0].Error() != path(o)+want):
			t.Errorf("%s: %v, want %s", name, errs, path(o)+want)
		}
	}
}
