package method

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// packets are packets of every kind that a profile can ask for.
func packets() map[string]v1alpha1.Packet {
	ipv4, ipv6, ethernet := &v1alpha1.IPPacket{}, &v1alpha1.IPPacket{}, &v1alpha1.EthernetPacket{HostsPerPort: 7}
	ports := &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: 2000, Count: 9}}
	tag, dscp, precedence := &v1alpha1.VLANTag{ID: 5, Priority: 3}, int32(46), int32(5)
	return map[string]v1alpha1.Packet{
		"IPv4":                {IPv4: ipv4},
		"IPv6":                {IPv6: ipv6},
		"Ethernet":            {Ethernet: ethernet},
		"tagged IPv4":         {IPv4: ipv4, VLAN: tag},
		"tagged IPv6":         {IPv6: ipv6, VLAN: tag},
		"tagged Ethernet":     {Ethernet: ethernet, VLAN: tag},
		"code point":          {IPv4: ipv4, DSCP: &dscp},
		"code point of IPv6":  {IPv6: ipv6, DSCP: &dscp},
		"precedence":          {IPv4: ipv4, IPPrecedence: &precedence},
		"UDP ports":           {IPv4: ipv4, UDP: ports},
		"labels":              {IPv4: ipv4, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16}}},
		"labels, no IP":       {Ethernet: ethernet, MPLS: &v1alpha1.MPLSStack{Labels: []int32{16, 17}}},
		"all at once of IPv6": {IPv6: ipv6, VLAN: tag, DSCP: &dscp, UDP: ports},
	}
}

// Every method with streams of its own takes every packet, and every method of
// groups those that have groups; each forwards all that is sent to it.
func TestMethodsTakeEveryPacket(t *testing.T) {
	alone := []v1alpha1.Test{
		cachingTest(func(c *v1alpha1.AddressCachingTest) { c.MaxAddresses = 16 }),
		learningTest(func(l *v1alpha1.AddressLearningTest) { l.Addresses = 16 }),
		{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{}},
		{Name: "blocking", HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}},
		{Name: "congestion", CongestionControl: &v1alpha1.CongestionControlTest{}},
	}
	groups := []v1alpha1.Test{
		joinTest("A"), joinTest("B"), leaveTest(),
		{Name: "capacity", GroupCapacity: &v1alpha1.GroupCapacityTest{Load: "50%"}},
	}
	for name, packet := range packets() {
		for _, kind := range []struct {
			tests   []v1alpha1.Test
			pattern v1alpha1.Pattern
		}{
			{alone, v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}},
			{alone, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: new(int32(1))}}},
			{groups, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 4}}},
			{groups, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}}},
		} {
			for _, test := range kind.tests {
				d, _ := DescribeTest(test)
				t.Run(fmt.Sprintf("%s of %s", test.Name, name), func(t *testing.T) {
					p, err := patternOn(bridgeBed(), packet, kind.pattern, 128, test)
					if packet.Ethernet != nil && kind.pattern.Pairs == nil && kind.pattern.PartialMesh == nil {
						if err == nil || !strings.Contains(err.Error(), "multicast groups are IP addresses") {
							t.Errorf("groups of Ethernet: %v", err)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					p.Rest = time.Second // in which the device ceases to forward groups that were left
					b := v1alpha1.SimulatedBehaviour{JoinDelay: lasting(time.Millisecond), LeaveDelay: lasting(time.Millisecond)}
					tester := open(t, simulate(t, header+"\n128,100,1,2,3\n", p, sim.WithBehaviour(b)), p, nil)
					row := rowOf(p, mustRun(t, tester, p.Steps[0]))
					congested := row.HeadOfLineBlocking != nil || row.CongestionControl != nil
					if row.Frames.Sent == 0 || row.Validity != v1alpha1.ValiditySimulated || (row.Frames.Lost > 0) != congested {
						t.Errorf("%s: %+v", d.Name, row)
					}
				})
			}
		}
	}
}

// Streams of a method's own have the headers of the profile: of broadcasts, over
// IPv4 all, and else what stands before the network layer.
func TestOwnStreamsHaveTheHeadersOfTheProfile(t *testing.T) {
	for name, packet := range packets() {
		t.Run(name, func(t *testing.T) {
			p, err := planOn(bridgeBed(), packet, 128, v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{}})
			if err != nil {
				t.Fatal(err)
			}
			tester := open(t, simulate(t, header+"\n128,100,1,2,3\n", p), p, nil)
			profile, own := p.Streams[0].Headers, []traffic.Headers{broadcastStream(p).Headers}
			for _, s := range addressStreams(tester, traffic.MAC{2}, 9) {
				own = append(own, s.Headers)
			}
			for i, h := range own {
				if !reflect.DeepEqual(h.VLANs, profile.VLANs) || !reflect.DeepEqual(h.Labels, profile.Labels) || h.TrafficClass != profile.TrafficClass {
					t.Errorf("stream %d: %+v, the profile has %+v", i, h, profile)
				}
				if network := i == 0 && packet.IPv4 != nil; h.SrcIP.IsValid() != network || h.DstIP.IsValid() != network {
					t.Errorf("stream %d: from %s to %s", i, h.SrcIP, h.DstIP)
				}
			}
			h := own[0]
			if h.DstMAC != broadcastMAC || h.DstMACCount > 1 || h.SrcMACCount > 1 || h.SrcMAC != profile.SrcMAC {
				t.Errorf("broadcasts from %s (%d) to %s (%d)", h.SrcMAC, h.SrcMACCount, h.DstMAC, h.DstMACCount)
			}
			if packet.IPv4 != nil && (h.DstIP.String() != "198.18.0.255" || h.DstIPCount != 1 || h.SrcPort != profile.SrcPort || h.SrcPortCount != profile.SrcPortCount) {
				t.Errorf("broadcasts %+v, the profile has %+v", h, profile)
			}
		})
	}
}

// Frames without a network layer of a method's own do not cross networks either.
func TestOwnStreamsOfEthernetStayInOneNetwork(t *testing.T) {
	bed := bridgeBed()
	bed.Spec.Engine.Kind, bed.Spec.Device = v1alpha1.EngineXDP, v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}}
	for i := range bed.Spec.Ports {
		p := &bed.Spec.Ports[i]
		p.Addresses = []string{fmt.Sprintf("198.18.%d.%d/24", i/2, i+2)}
		p.Node, p.Attachment = "node", &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: p.Name}}
	}
	_, err := planOn(bed, packets()["Ethernet"], 128, congestionTests()[1])
	const want = "congestionControl sends frames without a network layer from 198.18.0.2/24 on port p1 to 198.18.1.4/24 on port p3, which is another network: change the addresses and gateways of test bed bed, or choose another bed"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
