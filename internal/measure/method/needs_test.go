package method

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// withTRex returns the reason why TRex on the NICs of a four-port bed cannot run a test
// after a throughput test; empty if it can.
func withTRex(packet v1alpha1.Packet, nodes [4]string, test v1alpha1.Test) string {
	var bed v1alpha1.TestBed
	bed.Name = "cards"
	bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "X1"}
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi"}}}
	for i, node := range nodes {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Node: node, Speed: "10G",
			Addresses: []string{fmt.Sprintf("198.18.1.%d/24", i+2), fmt.Sprintf("2001:2::%d/64", i+2)},
		})
	}
	var profile v1alpha1.TrafficProfile
	profile.Name = "plain"
	profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{128}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: packet}
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}, test}
	return refusal(&b, &profile, &bed)
}

// refusal returns the reasons why a benchmark cannot run; empty if it can.
func refusal(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) string {
	if err := manifest.Default(b, profile, bed); err != nil {
		return err.Error()
	}
	if errs := plan.Validate(b, profile, bed); len(errs) > 0 {
		return errs.ToAggregate().Error()
	}
	return ""
}

// What TRex does not know is refused, never reported as if nothing had happened.
func TestWhatTRexCannotMeasure(t *testing.T) {
	one, two := [4]string{"lab-1", "lab-1", "lab-1", "lab-1"}, [4]string{"lab-1", "lab-1", "lab-2", "lab-2"}
	ipv4, ipv6 := v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
	series := metav1.Duration{Duration: time.Second}
	for name, tc := range map[string]struct {
		packet v1alpha1.Packet
		nodes  [4]string
		test   v1alpha1.Test
		want   string
	}{
		"bursts of two nodes": {ipv4, two, v1alpha1.Test{BackToBack: &v1alpha1.BackToBackTest{}}, "backToBack: Invalid value: \"t\": bursts of p1 on node lab-1 and of p3 on node lab-2 do not begin at the same time"},
		"buffer of two nodes": {ipv4, [4]string{"lab-1", "lab-1", "lab-2", "lab-2"}, v1alpha1.Test{BufferSize: &v1alpha1.BufferSizeTest{}}, "bursts of p1 on node lab-1 and of p3 on node lab-2 do not begin at the same time"},
		"bursts of one node":  {ipv4, one, v1alpha1.Test{BackToBack: &v1alpha1.BackToBackTest{}}, ""},
		"order":               {ipv4, one, v1alpha1.Test{Ordering: &v1alpha1.OrderingTest{}}, "ordering: Invalid value: \"t\": engine trex of test bed cards does not count reordered frames: choose a bed with another engine"},
		"recovery":            {ipv4, one, v1alpha1.Test{Recovery: &v1alpha1.RecoveryTest{}}, "does not tell where in a stream frames were lost, from which recovery follows"},
		"reset":               {ipv4, one, v1alpha1.Test{Reset: &v1alpha1.ResetTest{Trigger: v1alpha1.ResetExternal}}, "does not tell where in a stream frames were lost, from which reset follows"},
		"join delay":          {ipv4, one, v1alpha1.Test{GroupJoinDelay: &v1alpha1.GroupJoinDelayTest{}}, "does not tell when frames arrive, from which groupJoinDelay follows"},
		"leave delay":         {ipv4, one, v1alpha1.Test{GroupLeaveDelay: &v1alpha1.GroupLeaveDelayTest{}}, "does not tell when frames arrive, from which groupLeaveDelay follows"},
		"caching":             {ipv4, one, v1alpha1.Test{AddressCaching: &v1alpha1.AddressCachingTest{MaxAddresses: 10}}, "counts frames by their IP header, and addressCaching sends frames without a network layer"},
		"learning":            {ipv4, one, v1alpha1.Test{AddressLearning: &v1alpha1.AddressLearningTest{}}, "counts frames by their IP header, and addressLearning sends frames without a network layer"},
		"broadcast of IPv6":   {ipv6, one, v1alpha1.Test{Broadcast: &v1alpha1.BroadcastTest{}}, "only IPv4 has broadcast: give traffic profile plain packet ipv4"},

		"broadcast":       {ipv4, two, v1alpha1.Test{Broadcast: &v1alpha1.BroadcastTest{}}, ""},
		"congestion":      {ipv4, two, v1alpha1.Test{CongestionControl: &v1alpha1.CongestionControlTest{}}, ""},
		"head of line":    {ipv6, one, v1alpha1.Test{HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}}, ""},
		"loss":            {ipv6, two, v1alpha1.Test{FrameLoss: &v1alpha1.FrameLossTest{}}, ""},
		"forwarding rate": {ipv4, two, v1alpha1.Test{ForwardingRate: &v1alpha1.ForwardingRateTest{}}, ""},
		"a series":        {ipv4, two, v1alpha1.Test{Soak: &v1alpha1.SoakTest{SamplingInterval: &series}}, ""},
		"latency":         {ipv6, two, v1alpha1.Test{Latency: &v1alpha1.LatencyTest{}}, ""},
	} {
		tc.test.Name = "t"
		if got := withTRex(tc.packet, tc.nodes, tc.test); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Broadcast frames that leave a node need an engine that counts them there.
func TestBroadcastBetweenNodes(t *testing.T) {
	in := plan.Setting{
		Bed: objects.TestBed("", objects.Engine("abacus")), Engine: traffic.Capabilities{Ethernet: true},
		Ports: []plan.Port{{Name: "p1", Node: "lab-1"}, {Name: "p2", Node: "lab-1"}, {Name: "p3", Node: "lab-2"}},
	}
	errs := fitsBroadcast(v1alpha1.Test{Name: "t"}, in, nil)
	if want := "broadcast frames go from p1 on node lab-1 to p3 on node lab-2 too"; len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("%v, want %s", errs, want)
	}
	in.Engine.CrossHost = true
	if errs := fitsBroadcast(v1alpha1.Test{Name: "t"}, in, nil); len(errs) > 0 {
		t.Error(errs)
	}
}
