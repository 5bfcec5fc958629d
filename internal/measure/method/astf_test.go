package method

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// hostsOnTRex are the errors of tests on a bed of the engine trex with so many ports, on one or two nodes.
func hostsOnTRex(ports int, second string, tests ...v1alpha1.Test) string {
	var bed v1alpha1.TestBed
	bed.Name = "astf"
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "X1"}}
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex}
	for i := range ports {
		node := "lab-1"
		if i%2 == 1 {
			node = second
		}
		name := string(rune('1' + i))
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{Name: "p" + name, Node: node, Speed: "10G", Addresses: []string{"198.18." + name + ".2/24"}, Gateways: []string{"198.18." + name + ".1"}})
	}
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{128}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var b v1alpha1.Benchmark
	b.Spec.Tests = tests
	return refusal(&b, &profile, &bed)
}

// Hosts that a TRex server has not, and what it does not count, are refused by field, with the value and the remedy.
func TestHostsOnTRex(t *testing.T) {
	seconds := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	connections := func(change func(*v1alpha1.ConnectionsTest)) v1alpha1.Test {
		c := &v1alpha1.ConnectionsTest{Measure: v1alpha1.ConnectionsSetUpRate, Clients: 1, Servers: 1}
		change(c)
		return v1alpha1.Test{Name: "c", Connections: c}
	}
	bulk := func(change func(*v1alpha1.BulkTest)) v1alpha1.Test {
		b := &v1alpha1.BulkTest{}
		change(b)
		return v1alpha1.Test{Name: "b", Bulk: b}
	}
	for name, tc := range map[string]struct {
		test v1alpha1.Test
		want string
	}{
		"connections":  {connections(func(*v1alpha1.ConnectionsTest) {}), ""},
		"their ports":  {connections(func(c *v1alpha1.ConnectionsTest) { c.Client, c.Server = "p1", "p2" }), ""},
		"a data set":   {bulk(func(*v1alpha1.BulkTest) {}), ""},
		"the opposite": {bulk(func(b *v1alpha1.BulkTest) { b.Sender, b.Receiver, b.CongestionControl = "p2", "p1", "cubic" }), ""},

		"capacity":            {connections(func(c *v1alpha1.ConnectionsTest) { c.Measure = v1alpha1.ConnectionsCapacity }), `connections.measure: Invalid value: "Capacity": engine trex counts all connections together, and not how many are open at once or when each was closed: give SetUpRate`},
		"tear-down":           {connections(func(c *v1alpha1.ConnectionsTest) { c.Measure = v1alpha1.ConnectionsTearDownRate }), `connections.measure: Invalid value: "TearDownRate"`},
		"UDP":                 {connections(func(c *v1alpha1.ConnectionsTest) { c.Protocol = v1alpha1.ConnectionsUDP }), `connections.protocol: Invalid value: "UDP": engine trex does not verify connections of UDP: give TCP`},
		"four clients":        {connections(func(c *v1alpha1.ConnectionsTest) { c.Clients = 4 }), "connections.clients: Invalid value: 4: engine trex answers ARP for the address of a port only, which its host has: give 1"},
		"four servers":        {connections(func(c *v1alpha1.ConnectionsTest) { c.Servers = 4 }), "connections.servers: Invalid value: 4: engine trex"},
		"other ports":         {connections(func(c *v1alpha1.ConnectionsTest) { c.Client, c.Server = "p2", "p1" }), `connections.client: Invalid value: "p2": engine trex has clients on the first port of the bed and servers on the second one: give p1`},
		"parts of a second":   {connections(func(c *v1alpha1.ConnectionsTest) { c.Timeout = seconds(2500 * time.Millisecond) }), `connections.timeout: Invalid value: "2.5s": engine trex counts this time in seconds: give whole seconds, 2s or more`},
		"a second":            {connections(func(c *v1alpha1.ConnectionsTest) { c.Timeout = seconds(time.Second) }), `connections.timeout: Invalid value: "1s"`},
		"open too soon":       {connections(func(c *v1alpha1.ConnectionsTest) { c.Connections = 1000 }), "connections.connections: Invalid value: 1000: at maximumRate 100000 they are open after 10ms, in which the counters of engine trex do not show the rate: give 10000 or more, or a lower maximumRate"},
		"open too late":       {connections(func(c *v1alpha1.ConnectionsTest) { c.Connections, c.MinimumRate = 10_000, 2 }), "connections.minimumRate: Invalid value: 2: 10000 connections take 1h23m20s, and engine trex holds one for 1h0m0s at most: give 3 or more"},
		"a duration":          {bulk(func(b *v1alpha1.BulkTest) { b.Duration = *seconds(time.Second) }), `bulk.duration: Invalid value: "1s": engine trex moves a data set: give size in its place`},
		"several connections": {bulk(func(b *v1alpha1.BulkTest) { b.Connections = 8 }), "bulk.connections: Invalid value: 8: engine trex counts the bytes of all connections together, and not of each: give 1"},
		"long packets":        {bulk(func(b *v1alpha1.BulkTest) { b.MTU = 9000 }), "bulk.mtu: Invalid value: 9000: the hosts of engine trex send packets of at most 1500 bytes"},
		"another control":     {bulk(func(b *v1alpha1.BulkTest) { b.CongestionControl = "bbr" }), `bulk.congestionControl: Unsupported value: "bbr": supported values: "reno", "cubic"`},
		"incast":              {v1alpha1.Test{Name: "i", Incast: &v1alpha1.IncastTest{}}, "incast: Invalid value: \"i\": engine trex counts connections and bytes of TCP in total, from which incast does not follow: choose a bed with engine xdp"},
		"latency of requests": {v1alpha1.Test{Name: "r", RPCLatency: &v1alpha1.RPCLatencyTest{}}, "from which rpcLatency does not follow"},
		"collectives":         {v1alpha1.Test{Name: "a", Collectives: &v1alpha1.CollectivesTest{}}, "from which collectives does not follow"},
		"messages":            {v1alpha1.Test{Name: "m", MessageRate: &v1alpha1.MessageRateTest{}}, "from which messageRate does not follow"},
	} {
		if got := hostsOnTRex(2, "lab-1", tc.test); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	one := connections(func(*v1alpha1.ConnectionsTest) {})
	for name, tc := range map[string]struct{ got, want string }{
		"frames next to hosts": {hostsOnTRex(2, "lab-1", one, v1alpha1.Test{Name: "t", Throughput: &v1alpha1.ThroughputTest{}}), `spec.tests[1].throughput: Invalid value: "t": a server of engine trex has hosts with TCP (mode ASTF) or sends frames (mode STL), and other tests of this benchmark need hosts: put t into a benchmark without hosts`},
		"four ports":           {hostsOnTRex(4, "lab-1", one), "give test bed astf two ports on one node"},
		"two nodes":            {hostsOnTRex(2, "lab-2", one), "give test bed astf two ports on one node"},
	} {
		if !strings.Contains(tc.got, tc.want) {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}
