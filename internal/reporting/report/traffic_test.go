package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func ptr[T any](v T) *T { return &v }

func TestTraffic(t *testing.T) {
	ip := &v1alpha1.IPPacket{HostsPerPort: 1}
	for want, spec := range map[string]v1alpha1.TrafficProfileSpec{
		"IPv4/UDP, port pairs in one direction, VLAN 7 priority 3, MPLS labels 16 17, DSCP 46": {
			Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: ptr(false)}},
			Packet:  v1alpha1.Packet{IPv4: ip, VLAN: &v1alpha1.VLANTag{ID: 7, Priority: 3}, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16, 17}}, DSCP: ptr[int32](46)},
		},
		"Ethernet without network layer, full mesh (RFC 2889 section 5.1), 10 hosts per port": {
			Pattern: v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}, Packet: v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{HostsPerPort: 10}},
		},
		"IPv4/UDP, partial mesh (RFC 2889) from p1, p2 to all other ports in both directions, IP precedence 0": {
			Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1", "p2"}, Bidirectional: ptr(true)}},
			Packet:  v1alpha1.Packet{IPv4: ip, IPPrecedence: ptr[int32](0)},
		},
		"IPv4/UDP, partial mesh (RFC 2889) from the first 2 ports to the next 3 ports in one direction": {
			Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](2), ReceiverCount: ptr[int32](3)}},
			Packet:  v1alpha1.Packet{IPv4: ip},
		},
		"IPv6/UDP, multicast from the first port to all others, 3 groups from ff1e::2001:2:8000:1 up": {
			Pattern: v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 3}}, Packet: v1alpha1.Packet{IPv6: ip},
		},
		"IPv4/UDP, multicast from p2 to all others, group 239.1.1.1": {
			Pattern: v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Sender: "p2", FirstGroup: "239.1.1.1"}}, Packet: v1alpha1.Packet{IPv4: ip},
		},
		"IPv4/UDP, multicast and unicast 1:3 from p2 to all others (RFC 3918 section 4.1), 6 groups from 225.1.1.1 up": {
			Pattern: v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{Sender: "p2", Groups: 6, UnicastFrames: 3}}, Packet: v1alpha1.Packet{IPv4: ip},
		},
		"IPv4/UDP, multicast from every port to all others, one group each from 225.1.1.1 up, each port 100µs after the one before": {
			Pattern: v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{Stagger: &metav1.Duration{Duration: 100 * time.Microsecond}}}, Packet: v1alpha1.Packet{IPv4: ip},
		},
		"IPv4/UDP, port pairs in both directions; routes networks: 8 by each session from 198.18.128.0/24; routes secondary: the same 8 by each session from 198.18.128.0/24; routes covering: 1 by each session from 198.18.0.0/15, to which no frames are sent": {
			Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: ip},
			Routing: &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{
				{Name: "networks", First: "198.18.128.0/24", Count: 8},
				{Name: "secondary", First: "198.18.128.0/24", Count: 8, Shared: ptr(true)},
				{Name: "covering", First: "198.18.0.0/15", Traffic: ptr(false)},
			}},
		},
	} {
		profile := *objects.TrafficProfile("", "", objects.ProfileSpec(spec))
		if err := manifest.Default(&profile); err != nil {
			t.Fatal(err)
		}
		d := &Document{Profile: &profile.Spec}
		if got := d.traffic(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of tests that choose their ports themselves the pattern of the profile says nothing.
func TestTrafficOfOwnPorts(t *testing.T) {
	pairs := &v1alpha1.TrafficProfileSpec{Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}
	blocking := v1alpha1.Test{Name: "blocking", HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}}
	for want, tests := range map[string][]v1alpha1.Test{
		"IPv4/UDP, port pairs in both directions":                                                                {throughput},
		"IPv4/UDP, between the ports that are named under trials":                                                {blocking},
		"IPv4/UDP, port pairs in both directions (test blocking: between the ports that are named under trials)": {throughput, blocking},
	} {
		d := &Document{Profile: pairs}
		d.Spec.Tests = tests
		if got := d.traffic(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
