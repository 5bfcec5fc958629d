package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func port(i int) v1alpha1.Port {
	return v1alpha1.Port{
		Name: fmt.Sprintf("p%d", i), Node: "node1", Speed: "10G",
		Addresses:  []string{fmt.Sprintf("198.18.%d.2/24", i)},
		Gateways:   []string{fmt.Sprintf("198.18.%d.1", i)},
		Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: fmt.Sprintf("eth%d", i)}},
	}
}

func bed(name string, change ...func(*v1alpha1.TestBed)) v1alpha1.TestBed {
	b := *objects.TestBed(name,
		objects.Labels(map[string]string{"device": name}), objects.Physical("acme", "X1"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(port(1), port(2)), objects.Access(grant()),
	)
	for _, c := range change {
		c(&b)
	}
	return b
}

// manySizes are as many frame sizes as a profile can have.
func manySizes() []int32 {
	all := make([]int32, 64)
	for i := range all {
		all[i] = int32(64 + i)
	}
	return all
}

// grant returns an access grant for the namespace team for 24 hours, with the given changes.
func grant(change ...func(*v1alpha1.AccessGrant)) v1alpha1.AccessGrant {
	g := v1alpha1.AccessGrant{Names: []string{"team"}, MaxDuration: metav1.Duration{Duration: 24 * time.Hour}}
	for _, c := range change {
		c(&g)
	}
	return g
}

func input(change ...func(*Input)) Input {
	in := Input{
		Namespace: namespace("team", nil),
		Benchmark: objects.Benchmark("team", "b",
			objects.BedName("one"), objects.ProfileName("pairs"), objects.Deadline(86400),
			objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{
				Search: v1alpha1.SearchBinary, Resolution: "1%", MinLoad: "1%", MaxLoad: "100%",
				TrialDuration: metav1.Duration{Duration: time.Second}, SearchTrialDuration: metav1.Duration{Duration: time.Second},
			})),
		),
		Profiles: []v1alpha1.TrafficProfile{{
			ObjectMeta: metav1.ObjectMeta{Name: "pairs", Namespace: "team"},
			Spec: v1alpha1.TrafficProfileSpec{
				FrameSizes: []int32{64, 1518},
				Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
				Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{HostsPerPort: 1}},
			},
		}},
		Beds: []v1alpha1.TestBed{bed("one"), bed("two")},
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func TestBenchmark(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		beds   []string
		// want are parts of the messages, in their order.
		want []string
	}{
		"by name": {beds: []string{"one"}},
		"by labels, all that allow the namespace": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedSelector = &metav1.LabelSelector{}
				in.Beds = append(in.Beds, bed("foreign", func(b *v1alpha1.TestBed) { b.Spec.Access = nil }))
			},
			beds: []string{"one", "two"},
		},
		"by labels, only those that fit": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedSelector = &metav1.LabelSelector{}
				in.Beds[0].Spec.Ports = append(in.Beds[0].Spec.Ports, port(3))
			},
			beds: []string{"two"},
		},
		"a namespace allowed by its labels": {
			change: func(in *Input) {
				in.Namespace = namespace("team", map[string]string{"lab": "shared"})
				in.Beds[0].Spec.Access[0].Names = nil
				in.Beds[0].Spec.Access[0].Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"lab": "shared"}}
			},
			beds: []string{"one"},
		},
		"a restart of a virtual router": {
			change: func(in *Input) {
				in.Beds[0].Spec.Device = v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}}
				in.Beds[0].Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{{Name: "peer", ASN: 65001}}}}
				in.Profiles[0].Spec.Routing = &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{{Name: "networks", First: "198.18.128.0/24", Count: 8}}}
				in.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "restart", BGPRestart: &v1alpha1.BGPRestartTest{Load: "50%", Restarts: 1}}}
			},
			want: []string{"spec.tests[0].bgpRestart: Forbidden: in a cluster NoDrop restarts the BGP of simulated devices only, and that of test bed one is not one"},
		},
		"profile and bed are named in one answer": {
			change: func(in *Input) {
				in.Benchmark.Spec.TrafficProfileName, in.Benchmark.Spec.TestBedName = "paris", "three"
			},
			want: []string{
				`spec.trafficProfileName: Invalid value: "paris": namespace team has no TrafficProfile of this name (pairs); did you mean "pairs"?: apply the profile first, or name another`,
				`spec.testBedName: Invalid value: "three": there is no TestBed of this name (namespace team may use: one, two)`,
			},
		},
		"a bed of others": {
			change: func(in *Input) { in.Beds[0].Spec.Access[0].Names = []string{"other"} },
			want:   []string{`spec.testBedName: Invalid value: "one": this TestBed does not allow namespace team (it may use: two): use one of those, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 24h}`},
		},
		"labels of others' beds": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"device": "one"}}
				in.Beds[0].Spec.Access = nil
			},
			want: []string{`spec.testBedSelector: Invalid value: "device=one": no TestBed with these labels allows namespace team`},
		},
		"by what it must have": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedRequirements = &v1alpha1.TestBedRequirements{Ports: 2}
			},
			beds: []string{"one", "two"},
		},
		"what no bed has": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedRequirements = &v1alpha1.TestBedRequirements{Ports: 8, PortSpeed: "400G"}
			},
			want: []string{`spec.testBedRequirements: Invalid value: "ports: 8, portSpeed: 400G": no TestBed has all of this (closest is one: 0 of its 2 ports have 400G or more; namespace team may use: one, two): ask for less, or ask the lab for such a bed`},
		},
		"what only beds of others have": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedRequirements = &v1alpha1.TestBedRequirements{Ports: 2}
				in.Beds[0].Spec.Access, in.Beds[1].Spec.Access = nil, nil
			},
			want: []string{`spec.testBedRequirements: Invalid value: "ports: 2": no TestBed that has all of this allows namespace team`},
		},
		"a malformed selector": {
			change: func(in *Input) {
				in.Benchmark.Spec.TestBedName = ""
				in.Benchmark.Spec.TestBedSelector = &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "device", Operator: "Is", Values: []string{"one"}}},
				}
			},
			want: []string{`"Is" is not a valid label selector operator: use matchLabels`},
		},
		"more rows than a benchmark holds": {
			change: func(in *Input) {
				in.Profiles[0].Spec.FrameSizes = manySizes()
				for i := range 4 {
					in.Benchmark.Spec.Tests = append(in.Benchmark.Spec.Tests, v1alpha1.Test{
						Name: fmt.Sprintf("loss-%d", i), FrameLoss: &v1alpha1.FrameLossTest{Step: "1%"},
					})
				}
			},
			want: []string{"these tests make 25664 result rows of about 26 MiB with the 64 frame sizes and mixes of profile pairs, and a benchmark holds at most 20000 rows and 64 MiB (most are of: loss-0 6400, loss-1 6400, loss-2 6400)"},
		},
		"more bytes of rows than a benchmark holds, in all variants": {
			change: func(in *Input) {
				in.Profiles[0].Spec.FrameSizes = manySizes()
				in.Benchmark.Spec.Variants = make([]v1alpha1.VariantName, 16)
				for i := range 6 {
					in.Benchmark.Spec.Tests = append(in.Benchmark.Spec.Tests, v1alpha1.Test{
						Name: fmt.Sprintf("soak-%d", i), Soak: &v1alpha1.SoakTest{SamplingInterval: &metav1.Duration{Duration: time.Second}},
					})
				}
			},
			want: []string{"these tests make 7168 result rows of about 73 MiB with the 64 frame sizes and mixes of profile pairs for each of 16 variants, and a benchmark holds at most 20000 rows and 64 MiB"},
		},
		"a bed that the plan does not fit": {
			change: func(in *Input) { in.Beds[0].Spec.Ports = append(in.Beds[0].Spec.Ports, port(3)) },
			want:   []string{"test bed one has 3 ports, and pairs needs an even number"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			if tc.change != nil {
				tc.change(&in)
			}
			if err := manifest.Default(in.Benchmark); err != nil {
				t.Fatal(err)
			}
			a := Benchmark(in)
			if len(a.Problems) != len(tc.want) {
				t.Fatalf("%d problems, want %d: %v", len(a.Problems), len(tc.want), a.Problems)
			}
			for i, want := range tc.want {
				if !strings.Contains(a.Problems[i].Error(), want) {
					t.Errorf("problem %d is %q, want one with %q", i, a.Problems[i], want)
				}
			}
			var beds []string
			for _, b := range a.Beds {
				beds = append(beds, b.Name)
			}
			if !slices.Equal(beds, tc.beds) {
				t.Errorf("beds %q, want %q", beds, tc.beds)
			}
		})
	}
}

func TestPolicyWarnings(t *testing.T) {
	b := bed("one", func(b *v1alpha1.TestBed) {
		b.Spec.Policy = &v1alpha1.TrafficPolicy{SourceAddresses: []v1alpha1.AddressPrefix{"198.18.1.0/24"}, DestinationAddresses: []v1alpha1.AddressPrefix{"198.18.0.0/15"}}
	})
	want := []string{"spec.policy.sourceAddresses has no prefix for spec.ports[1].addresses[0], 198.18.2.2/24: profiles that use it are refused"}
	if got := policyWarnings(&b); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTestBed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TestBed)
		want   string
	}{
		"as it should be": {},
		"ports by number": {change: func(b *v1alpha1.TestBed) {
			b.Spec.Ports = nil
			b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "1G"}}}
		}},
		"one port": {
			change: func(b *v1alpha1.TestBed) { b.Spec.Ports = b.Spec.Ports[:1] },
			want:   "spec.ports: Invalid value: 1: a bed needs at least two ports",
		},
		"an interface twice": {
			change: func(b *v1alpha1.TestBed) { b.Spec.Ports[1].Attachment.HostDevice.Interface = "eth1" },
			want:   `spec.ports[1].attachment.hostDevice.interface: Invalid value: "eth1": port p1 has this interface of node node1 already`,
		},
		"an address twice": {
			change: func(b *v1alpha1.TestBed) {
				b.Spec.Ports[1].Addresses, b.Spec.Ports[1].Gateways = []string{"198.18.1.2/24"}, nil
			},
			want: `spec.ports[1].addresses[0]: Invalid value: "198.18.1.2/24": port p1 has this address already`,
		},
		"the address of a network": {
			change: func(b *v1alpha1.TestBed) { b.Spec.Ports[0].Addresses[0] = "198.18.1.0/24" },
			want:   `spec.ports[0].addresses[0]: Invalid value: "198.18.1.0/24": this is the address of the network`,
		},
		"a gateway outside": {
			change: func(b *v1alpha1.TestBed) { b.Spec.Ports[0].Gateways[0] = "198.18.9.1" },
			want:   `spec.ports[0].gateways[0]: Invalid value: "198.18.9.1": the gateway is outside of 198.18.1.0/24`,
		},
		"a name that every pod has": {
			change: func(b *v1alpha1.TestBed) { b.Spec.Ports[0].Name = "eth0" },
			want:   `spec.ports[0].name: Invalid value: "eth0"`,
		},
		"a virtual device on two nodes": {
			change: func(b *v1alpha1.TestBed) {
				b.Spec.Device = v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}}
				b.Spec.Ports[1].Node = "node2"
			},
			want: `spec.ports[1].node: Invalid value: "node2": a containerlab device has its links on one node`,
		},
		"sessions of the engine xdp": {
			change: func(b *v1alpha1.TestBed) {
				b.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{{Name: "peer", ASN: 65001}}}}
			},
		},
		"hooks": {change: func(b *v1alpha1.TestBed) {
			b.Spec.Hooks = &v1alpha1.LeaseHooks{BeforeLease: []v1alpha1.LeaseHook{{Name: "load", Image: "i:1", Memory: new(resource.MustParse("16Gi"))}}}
		}},
		"a hook with much memory": {
			change: func(b *v1alpha1.TestBed) {
				b.Spec.Hooks = &v1alpha1.LeaseHooks{AfterLease: []v1alpha1.LeaseHook{{Name: "load", Image: "i:1", Memory: new(resource.MustParse("17Gi"))}}}
			},
			want: `spec.hooks.afterLease[0].memory: Invalid value: "17Gi": give 16Mi to 16Gi`,
		},
		"hooks with long scripts": {
			change: func(b *v1alpha1.TestBed) {
				script := strings.Repeat("x", 4096)
				h := v1alpha1.LeaseHook{Name: "load", Image: "i:1", Args: slices.Repeat([]string{script}, 17)}
				b.Spec.Hooks = &v1alpha1.LeaseHooks{BeforeLease: []v1alpha1.LeaseHook{h}}
			},
			want: "spec.hooks: Too long: all hooks have 69 KiB together, and at most 64 KiB are allowed",
		},
		"a malformed selector": {
			change: func(b *v1alpha1.TestBed) {
				b.Spec.Access[0].Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"no good": "x"}}
			},
			want: "spec.access[0].selector: Invalid value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := bed("one")
			if tc.change != nil {
				tc.change(&b)
			}
			problems := TestBed(&b)
			switch {
			case tc.want == "" && len(problems) > 0:
				t.Errorf("problems: %v", problems)
			case tc.want != "" && len(problems) != 1:
				t.Errorf("%d problems, want 1: %v", len(problems), problems)
			case tc.want != "" && !strings.Contains(problems[0].Error(), tc.want):
				t.Errorf("problem %q, want one with %q", problems[0], tc.want)
			}
		})
	}
}
