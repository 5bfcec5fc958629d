package policy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	_ "nodrop.dev/nodrop/internal/measure/method" // every method says which streams it sends
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// input contains the arguments of Check.
type input struct {
	benchmark v1alpha1.Benchmark
	profile   v1alpha1.TrafficProfile
	bed       v1alpha1.TestBed
	lab       *v1alpha1.TrafficPolicy
}

// sent is IPv4 pairs on a bed of four ports in networks kept for benchmarks.
func sent(changes ...func(*input)) input {
	in := input{
		benchmark: *objects.Benchmark("", "", objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{}))),
		profile:   *objects.TrafficProfile("", "p", objects.IPv4Pairs(256)),
		bed:       *objects.TestBed("bed", objects.Physical("v", "m"), objects.Engine(v1alpha1.EngineXDP)),
	}
	networks(198, 18)(&in)
	for _, c := range changes {
		c(&in)
	}
	if err := manifest.Default(&in.benchmark, &in.profile, &in.bed); err != nil {
		panic(err)
	}
	return in
}

// networks adds ports to the bed, in networks below two octets.
func networks(a, b int) func(*input) {
	return func(in *input) {
		in.bed.Spec.Ports = nil
		for i := 1; i <= 4; i++ {
			in.bed.Spec.Ports = append(in.bed.Spec.Ports, v1alpha1.Port{
				Name: fmt.Sprintf("p%d", i), Node: "n", Speed: "10G",
				Addresses: []string{fmt.Sprintf("%d.%d.%d.2/24", a, b, i), fmt.Sprintf("2001:2:0:%d::2/64", i)},
				Gateways:  []string{fmt.Sprintf("%d.%d.%d.1", a, b, i), fmt.Sprintf("2001:2:0:%d::1", i)},
			})
		}
	}
}

// oneNetwork puts all ports of the bed into one.
func oneNetwork(in *input) {
	for i := range in.bed.Spec.Ports {
		in.bed.Spec.Ports[i].Gateways = nil
		in.bed.Spec.Ports[i].Addresses = []string{fmt.Sprintf("198.18.0.%d/24", i+2)}
	}
}

func packet(change func(*v1alpha1.Packet)) func(*input) {
	return func(in *input) { change(&in.profile.Spec.Packet) }
}

func vlan(id int32) func(*input) {
	return packet(func(p *v1alpha1.Packet) { p.VLAN = &v1alpha1.VLANTag{ID: id} })
}

func mpls(labels ...int32) func(*input) {
	return packet(func(p *v1alpha1.Packet) { p.MPLS = &v1alpha1.MPLSStack{Labels: labels} })
}

func ethernet(in *input) {
	oneNetwork(in)
	in.profile.Spec.Packet = v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}}
}

func hosts(n int32) func(*input) {
	return packet(func(p *v1alpha1.Packet) { p.IPv4.HostsPerPort = n })
}

func fanOut(groups int32, first v1alpha1.GroupAddress) func(*input) {
	return func(in *input) {
		in.profile.Spec.Pattern = v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: groups, FirstGroup: first}}
	}
}

func test(t v1alpha1.Test) func(*input) {
	return func(in *input) {
		t.Name = "extra"
		in.benchmark.Spec.Tests = append(in.benchmark.Spec.Tests, t)
	}
}

func bedPolicy(p v1alpha1.TrafficPolicy) func(*input) {
	return func(in *input) { in.bed.Spec.Policy = &p }
}

func labPolicy(p v1alpha1.TrafficPolicy) func(*input) {
	return func(in *input) { in.lab = &p }
}

func simulated(in *input) {
	in.bed.Spec.Device = v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}}
	in.bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim}
}

type (
	policyOf = v1alpha1.TrafficPolicy
	prefixes = []v1alpha1.AddressPrefix
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []func(*input)
		// want are the problems, in their order.
		want []string
	}{
		"addresses kept for benchmarks": {},
		"the networks of the ports":     {changes: []func(*input){networks(10, 1), hosts(100)}},
		"a group":                       {changes: []func(*input){fanOut(3, "239.1.1.1")}},
		"frames without a network layer": {
			changes: []func(*input){ethernet},
		},
		"a tag without a policy": {
			changes: []func(*input){vlan(100)},
			want: []string{"TrafficProfile/p.spec.packet.vlan.id: Invalid value: 100: the built-in default policy, which holds on TestBed bed, allows no VLAN tags: " +
				"remove vlan, or ask the bed's owner to set this in spec.policy: vlans: [{first: 100}]"},
		},
		"a tag that the lab allows": {
			changes: []func(*input){vlan(100), labPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 100}}})},
		},
		"a tag that the lab does not allow": {
			changes: []func(*input){vlan(101), labPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 100}, {First: 200, Last: 299}}})},
			want: []string{"Invalid value: 101: the default policy of the lab, which holds on TestBed bed, allows VLANs 100, 200 to 299: " +
				"use one of those, or ask the bed's owner to set this in spec.policy: vlans: [{first: 100}, {first: 200, last: 299}, {first: 101}]"},
		},
		"the bed holds before the lab": {
			changes: []func(*input){vlan(100), bedPolicy(policyOf{VLANs: []v1alpha1.VLANRange{}}), labPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 100}}})},
			want:    []string{"spec.policy of TestBed bed allows no VLAN tags"},
		},
		"the lab holds where the bed says nothing": {
			changes: []func(*input){vlan(100), bedPolicy(policyOf{MPLSLabels: []v1alpha1.MPLSLabelRange{{First: 16}}}), labPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 100}}})},
		},
		"the ends of a range": {
			changes: []func(*input){vlan(299), mpls(1000, 1003), bedPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 200, Last: 299}}, MPLSLabels: []v1alpha1.MPLSLabelRange{{First: 1000, Last: 1003}}})},
		},
		"a label without a policy": {
			changes: []func(*input){mpls(100, 200)},
			want: []string{"TrafficProfile/p.spec.packet.mpls.labels[0]: Invalid value: 100: the built-in default policy, which holds on TestBed bed, allows no MPLS labels: " +
				"remove mpls, or ask the bed's owner to set this in spec.policy: mplsLabels: [{first: 100}, {first: 200}]"},
		},
		"the second label of a stack": {
			changes: []func(*input){mpls(100, 200), bedPolicy(policyOf{MPLSLabels: []v1alpha1.MPLSLabelRange{{First: 100}}})},
			want:    []string{"spec.packet.mpls.labels[1]: Invalid value: 200: spec.policy of TestBed bed allows labels 100: use those"},
		},
		"a tag and labels at once": {
			changes: []func(*input){vlan(100), mpls(100)},
			want:    []string{"packet.vlan.id", "packet.mpls.labels[0]"},
		},
		"a service VLAN beside a VLAN": {
			changes: []func(*input){packet(func(p *v1alpha1.Packet) { p.VLAN = &v1alpha1.VLANTag{ID: 100, Service: &v1alpha1.ServiceTag{ID: 200}} }), bedPolicy(policyOf{VLANs: []v1alpha1.VLANRange{{First: 100}}})},
			want:    []string{"TrafficProfile/p.spec.packet.vlan.service.id: Invalid value: 200: spec.policy of TestBed bed allows VLANs 100: use one of those"},
		},
		"custom bytes without a policy": {
			changes: []func(*input){packet(func(p *v1alpha1.Packet) { *p = v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "0800"}} })},
			want:    []string{"TrafficProfile/p.spec.packet.custom: Invalid value: \"custom\": the built-in default policy, which holds on TestBed bed, allows no frames of custom bytes"},
		},
		"a tunnel without a policy": {
			changes: []func(*input){packet(func(p *v1alpha1.Packet) { p.Tunnel = &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}} })},
			want: []string{"TrafficProfile/p.spec.packet.tunnel: Invalid value: \"tunnel\": the built-in default policy, which holds on TestBed bed, allows no packets in tunnels: " +
				"remove tunnel, or ask the bed's owner to set this in spec.policy: tunnels: true"},
		},
		"a tunnel that the bed allows": {
			changes: []func(*input){packet(func(p *v1alpha1.Packet) { p.Tunnel = &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}} }), bedPolicy(policyOf{Tunnels: new(true)})},
		},
		"addresses outside of the policy": {
			changes: []func(*input){networks(10, 1), bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.0.0/15"}})},
			want: []string{"TrafficProfile/p.spec.packet.ipv4: Invalid value: \"10.1.1.2\": spec.policy of TestBed bed allows the sourceAddresses 198.18.0.0/15, and port p1 sends from 10.1.1.2: " +
				"use a bed with addresses that are allowed, or ask the bed's owner to set this in spec.policy: sourceAddresses: [198.18.0.0/15, 10.1.1.0/24]"},
		},
		"destinations outside of the policy": {
			changes: []func(*input){networks(10, 1), bedPolicy(policyOf{DestinationAddresses: prefixes{"10.1.1.0/24"}})},
			want:    []string{"spec.policy of TestBed bed allows the destinationAddresses 10.1.1.0/24, and port p2 is sent frames at 10.1.2.2"},
		},
		"no destinations at all": {
			changes: []func(*input){bedPolicy(policyOf{DestinationAddresses: prefixes{}})},
			want:    []string{"spec.policy of TestBed bed allows no destinationAddresses, and port p2 is sent frames at 198.18.2.2"},
		},
		"a host beyond the policy": {
			changes: []func(*input){hosts(7), bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.1.0/29", "198.18.2.0/24", "198.18.3.0/24", "198.18.4.0/24"}})},
			want: []string{"TrafficProfile/p.spec.packet.ipv4.hostsPerPort: Invalid value: 7: spec.policy of TestBed bed allows the sourceAddresses 198.18.1.0/29, 198.18.2.0/24, 198.18.3.0/24, 198.18.4.0/24, and port p1 sends from 198.18.1.8: " +
				"give at most 6, or ask"},
		},
		"as many hosts as the policy has": {
			changes: []func(*input){hosts(6), bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.1.0/29", "198.18.2.0/24", "198.18.3.0/24", "198.18.4.0/24"}})},
		},
		"hosts in two prefixes that touch": {
			changes: []func(*input){hosts(7), bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.1.0/29", "198.18.1.8/29", "198.18.2.0/24", "198.18.3.0/24", "198.18.4.0/24"}})},
		},
		"the other family": {
			changes: []func(*input){
				packet(func(p *v1alpha1.Packet) { *p = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}} }),
				bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.0.0/15"}}),
			},
			want: []string{`TrafficProfile/p.spec.packet.ipv6: Invalid value: "2001:2:0:1::2": spec.policy of TestBed bed allows the sourceAddresses 198.18.0.0/15`},
		},
		"only ports that send": {
			changes: []func(*input){
				func(in *input) { in.profile.Spec.Pattern.Pairs.Bidirectional = new(false) },
				bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.1.0/24", "198.18.3.0/24"}, DestinationAddresses: prefixes{"198.18.2.0/24", "198.18.4.0/24"}}),
			},
		},
		"ports that a method sends between": {
			changes: []func(*input){
				oneNetwork,
				func(in *input) {
					in.profile.Spec.Pattern = v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2"}}}
				},
				test(v1alpha1.Test{HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{Load: "100%"}}),
				bedPolicy(policyOf{DestinationAddresses: prefixes{"198.18.0.2/31"}}),
			},
			want: []string{"allows the destinationAddresses 198.18.0.2/31, and port p3 is sent frames at 198.18.0.4"},
		},
		"groups outside of the policy": {
			changes: []func(*input){fanOut(3, "225.1.1.254"), bedPolicy(policyOf{Groups: prefixes{"225.1.1.0/24"}})},
			want: []string{`TrafficProfile/p.spec.pattern.fanOut.firstGroup: Invalid value: "225.1.1.254": spec.policy of TestBed bed allows the groups 225.1.1.0/24, and 225.1.2.0 is outside: ` +
				"give groups within, or ask the bed's owner to set this in spec.policy: groups: [225.1.1.0/24, 225.1.2.0/32]"},
		},
		"the default group of a pattern": {
			changes: []func(*input){
				func(in *input) { in.profile.Spec.Pattern = v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}} },
				bedPolicy(policyOf{Groups: prefixes{}}),
			},
			want: []string{`TrafficProfile/p.spec.pattern.nToN.firstGroup: Invalid value: "225.1.1.1": spec.policy of TestBed bed allows no multicast groups: use a pattern of unicast, or ask the bed's owner to set this in spec.policy: groups: [225.1.1.0/29]`},
		},
		"the groups of a mixed pattern": {
			changes: []func(*input){
				func(in *input) {
					in.profile.Spec.Pattern = v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{FirstGroup: "239.1.1.1"}}
				},
				bedPolicy(policyOf{Groups: prefixes{}}),
			},
			want: []string{`TrafficProfile/p.spec.pattern.mixedClass.firstGroup: Invalid value: "239.1.1.1": spec.policy of TestBed bed allows no multicast groups: use a pattern of unicast, or ask the bed's owner to set this in spec.policy: groups: [239.1.1.1/32]`},
		},
		"frames without a network layer, not allowed": {
			changes: []func(*input){ethernet, bedPolicy(policyOf{Ethernet: new(false)})},
			want:    []string{`TrafficProfile/p.spec.packet.ethernet: Invalid value: "ethernet": spec.policy of TestBed bed allows no frames with hardware addresses of no station or of all stations: use ipv4 or ipv6, or ask the bed's owner to set this in spec.policy: ethernet: true`},
		},
		"tests that make hardware addresses, not allowed": {
			changes: []func(*input){oneNetwork, labPolicy(policyOf{Ethernet: new(false)}), test(v1alpha1.Test{AddressCaching: &v1alpha1.AddressCachingTest{}}), test(v1alpha1.Test{Broadcast: &v1alpha1.BroadcastTest{}})},
			want:    []string{"spec.tests[1].addressCaching: Invalid value: \"extra\": the default policy of the lab", "spec.tests[2].broadcast"},
		},
		"hosts in the networks of the ports": {
			changes: []func(*input){networks(10, 1), test(v1alpha1.Test{Incast: &v1alpha1.IncastTest{}}), test(v1alpha1.Test{MessageRate: &v1alpha1.MessageRateTest{}})},
		},
		"hosts beyond the addresses of the ports": {
			changes: []func(*input){test(v1alpha1.Test{RPCLatency: &v1alpha1.RPCLatencyTest{}}), bedPolicy(policyOf{SourceAddresses: prefixes{"198.18.1.0/24", "198.18.2.0/30", "198.18.3.0/24", "198.18.4.0/24"}})},
			want: []string{`spec.tests[1].rpcLatency: Invalid value: "extra": spec.policy of TestBed bed allows the sourceAddresses 198.18.1.0/24, 198.18.2.0/30, 198.18.3.0/24, 198.18.4.0/24, and hosts on port p2 take addresses of 198.18.2.0/24: ` +
				"use a bed whose networks are allowed, or ask the bed's owner to set this in spec.policy: sourceAddresses: [198.18.1.0/24, 198.18.2.0/30, 198.18.3.0/24, 198.18.4.0/24, 198.18.2.0/24]"},
		},
		"data to hosts beyond the policy": {
			changes: []func(*input){
				func(in *input) { in.profile.Spec.Pattern.Pairs.Bidirectional = new(false) },
				test(v1alpha1.Test{Bulk: &v1alpha1.BulkTest{}}), bedPolicy(policyOf{DestinationAddresses: prefixes{"198.18.2.0/24", "198.18.4.0/24"}}),
			},
			want: []string{`spec.tests[1].bulk: Invalid value: "extra": spec.policy of TestBed bed allows the destinationAddresses 198.18.2.0/24, 198.18.4.0/24, and hosts on port p1 take addresses of 198.18.1.0/24`},
		},
		"messages to groups outside of the policy": {
			changes: []func(*input){test(v1alpha1.Test{MessageRate: &v1alpha1.MessageRateTest{FirstGroup: "225.1.1.250", Groups: 10}}), bedPolicy(policyOf{Groups: prefixes{"225.1.1.0/24"}})},
			want: []string{`spec.tests[1].messageRate.firstGroup: Invalid value: "225.1.1.250": spec.policy of TestBed bed allows the groups 225.1.1.0/24, and 225.1.2.0 is outside: ` +
				"give groups within, or ask the bed's owner to set this in spec.policy: groups: [225.1.1.0/24, 225.1.2.0/30]"},
		},
		"messages without groups": {
			changes: []func(*input){test(v1alpha1.Test{MessageRate: &v1alpha1.MessageRateTest{}}), labPolicy(policyOf{Groups: prefixes{}})},
			want:    []string{`spec.tests[1].messageRate.firstGroup: Invalid value: "225.1.1.1": the default policy of the lab, which holds on TestBed bed, allows no multicast groups: leave the test out`},
		},
		"nothing binds a bed that sends nothing": {
			changes: []func(*input){simulated, vlan(100), mpls(100), labPolicy(policyOf{SourceAddresses: prefixes{}, Groups: prefixes{}, Ethernet: new(false)})},
		},
		"but its own policy": {
			changes: []func(*input){simulated, vlan(100), mpls(100), bedPolicy(policyOf{VLANs: []v1alpha1.VLANRange{}})},
			want:    []string{"spec.policy of TestBed bed allows no VLAN tags"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := sent(tc.changes...)
			if errs := withoutSettings(plan.Validate(&in.benchmark, &in.profile, &in.bed)); len(errs) > 0 {
				t.Fatalf("the plan does not fit: %v", errs)
			}
			problems := Check(&in.benchmark, &in.profile, &in.bed, in.lab)
			if len(problems) != len(tc.want) {
				t.Fatalf("%d problems, want %d: %v", len(problems), len(tc.want), problems)
			}
			for i, want := range tc.want {
				if !strings.Contains(problems[i].Error(), want) {
					t.Errorf("problem %d is\n%s\nwant one with\n%s", i, problems[i], want)
				}
			}
		})
	}
}

// withoutSettings leaves out what plan.Validate says of the defaults of tests, which
// the API server has not filled in here.
func withoutSettings(errs field.ErrorList) field.ErrorList {
	var rest field.ErrorList
	for _, e := range errs {
		if !strings.HasPrefix(e.Field, "spec.tests") {
			rest = append(rest, e)
		}
	}
	return rest
}
