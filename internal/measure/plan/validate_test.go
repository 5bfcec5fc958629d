package plan

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// refusal builds a plan, which has to fail with all of these texts.
func refusal(t *testing.T, o *objects, want []string) {
	t.Helper()
	o.complete()
	_, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q has no %q", err, text)
		}
	}
}

func TestValidateAcceptsWhatWorks(t *testing.T) {
	tests := map[string]*objects{
		"router":        router(nil),
		"256 simulated": router(simulated(256)),
		"latency of simulated ports on all nodes": router(func(o *objects) {
			simulated(4)(o)
			o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[1:]
			o.benchmark.Spec.Tests[0].Latency.Loads = []v1alpha1.Load{"100%"}
		}),
		"throughput across nodes": router(func(o *objects) {
			o.bed.Spec.Ports[1].Node = "lab-2"
			o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[:1]
		}),
		"as many hosts as fit": router(func(o *objects) { o.profile.Spec.Packet.IPv4.HostsPerPort = 253 }),
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			if errs := Validate(&o.benchmark, &o.profile, &o.bed); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

// Every refusal names the field and the value, and says what to do.
func TestValidateRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*objects)
		want   []string
	}{
		"odd number of ports": {simulated(3), []string{
			"TrafficProfile/profile.spec.pattern.pairs: Invalid value: 3", "test bed bed has 3 ports", "add or remove a port"}},
		"no address of the family": {func(o *objects) {
			o.bed.Spec.Ports[1].Addresses, o.bed.Spec.Ports[1].Gateways = o.bed.Spec.Ports[1].Addresses[1:], nil
		}, []string{"TestBed/bed.spec.ports[1].addresses: Required", "port p2 has no IPv4 address"}},
		"no throughput before": {func(o *objects) {
			o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[1:]
		}, []string{`spec.tests[0].latency.loads[1]: Invalid value: "throughput"`, "add a throughput test before it"}},
		"throughput comes after": {func(o *objects) {
			o.benchmark.Spec.Tests[0], o.benchmark.Spec.Tests[1] = o.benchmark.Spec.Tests[1], o.benchmark.Spec.Tests[0]
		}, []string{"spec.tests[0].latency.loads[1]"}},
		"load of 120 %": {func(o *objects) {
			o.benchmark.Spec.Tests[1].Latency.Loads[0] = "120%"
		}, []string{`spec.tests[1].latency.loads[0]: Invalid value: "120%"`, "above 0% and up to 100%"}},
		"frame too large": {func(o *objects) {
			o.profile.Spec.FrameSizes[1] = 9217
		}, []string{"TrafficProfile/profile.spec.frameSizes[1]: Invalid value: 9217", "the largest frame is 9216 bytes"}},
		"frame below its headers": {func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
		}, []string{"TrafficProfile/profile.spec.frameSizes[0]: Invalid value: 64", "at least 86 bytes (14 Ethernet, 40 IPv6, 8 UDP, 20 signature, 4 FCS)"}},
		"latency across nodes": {func(o *objects) {
			o.bed.Spec.Ports[1].Node = "lab-2"
		}, []string{`spec.tests[1].latency: Invalid value: "latency"`, "from p1 on node lab-1 to p2 on node lab-2 needs a common clock", "on one node"}},
		"unknown engine": {func(o *objects) {
			o.bed.Spec.Engine.Kind = "abacus"
		}, []string{`TestBed/bed.spec.engine.kind: Unsupported value: "abacus"`, `"xdp"`}},
		"gateway elsewhere": {func(o *objects) {
			o.bed.Spec.Ports[0].Gateways[0] = "198.18.7.1"
		}, []string{`TestBed/bed.spec.ports[0].gateways[0]: Invalid value: "198.18.7.1"`, "outside of 198.18.1.0/24"}},
		"gateway is the port": {func(o *objects) {
			o.bed.Spec.Ports[0].Gateways[0] = "198.18.1.2"
		}, []string{"TestBed/bed.spec.ports[0].gateways[0]", "the address of port p1 itself"}},
		"same address twice": {func(o *objects) {
			o.bed.Spec.Ports[1].Addresses[0], o.bed.Spec.Ports[1].Gateways[0] = "198.18.1.2/24", "198.18.1.1"
		}, []string{`TestBed/bed.spec.ports[1].addresses[0]: Invalid value: "198.18.1.2/24"`, "port p1 has this address already"}},
		"other network without gateway": {func(o *objects) {
			o.bed.Spec.Ports[0].Gateways = nil
		}, []string{"TestBed/bed.spec.ports[0].gateways: Required", "give port p1 its IPv4 gateway"}},
		"hosts leave the network": {func(o *objects) {
			o.profile.Spec.Packet.IPv4.HostsPerPort = 254
		}, []string{"TrafficProfile/profile.spec.packet.ipv4.hostsPerPort: Invalid value: 254", "do not fit into the network of port p1"}},
		"hosts run into the gateway": {func(o *objects) {
			o.bed.Spec.Ports[0].Gateways[0] = "198.18.1.9"
			o.profile.Spec.Packet.IPv4.HostsPerPort = 20
		}, []string{"hostsPerPort: Invalid value: 20", "198.18.1.9, the address of the gateway of port p1"}},
		"UDP ports beyond the end": {func(o *objects) {
			o.profile.Spec.Packet.UDP = &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: 65000, Count: 1000}}
		}, []string{"TrafficProfile/profile.spec.packet.udp.sourcePorts.count: Invalid value: 1000", "at most 536"}},
		"both families": {func(o *objects) {
			o.profile.Spec.Packet.IPv6 = &v1alpha1.IPPacket{}
		}, []string{"TrafficProfile/profile.spec.packet: Required", "exactly one of ipv4, ipv6, ethernet and custom"}},
		"no test": {func(o *objects) { o.benchmark.Spec.Tests = nil }, []string{"spec.tests: Required"}},
		"two methods": {func(o *objects) {
			o.benchmark.Spec.Tests[0].Latency = &v1alpha1.LatencyTest{}
		}, []string{"spec.tests[0]: Required", "exactly one"}},
		"same name":      {func(o *objects) { o.benchmark.Spec.Tests[1].Name = "throughput" }, []string{`spec.tests[1].name: Duplicate value: "throughput"`}},
		"too many ports": {simulated(1026), []string{"TestBed/bed.spec.engine.sim.ports.count: Invalid value: 1026", "2 to 1024"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := router(tc.change)
			refusal(t, o, tc.want)
		})
	}
}

func TestValidateRefusesMoreStreamsThanTheEngineTakes(t *testing.T) {
	o := router(simulated(256))
	ports, _ := Ports(&o.bed)
	errs := validatePattern(Sections(&o.profile)[0], &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 255}})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "Invalid value: 256: the pattern makes 256 streams on the 256 ports of test bed bed, and engine sim takes at most 255") {
		t.Errorf("errors %v", errs)
	}
	if errs := validatePattern(Sections(&o.profile)[0], &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 256}}); len(errs) > 0 {
		t.Errorf("errors %v", errs)
	}
}

func TestValidateRefusesFramesThatTheEngineDoesNotSend(t *testing.T) {
	o := router(nil)
	errs := validateSizes(Sections(&o.profile)[0], &o.bed, traffic.Capabilities{Limits: traffic.Limits{MaxFrameSize: 1514}, MinFrameSize: 68})
	if len(errs) != 2 || !strings.Contains(errs[1].Error(), "TrafficProfile/profile.spec.frameSizes[1]: Invalid value: 1518: engine xdp of test bed bed sends frames of 68 to 1514 bytes: change the frame size, or choose a bed with another engine") {
		t.Errorf("errors %v", errs)
	}
}
