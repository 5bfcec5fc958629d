package devicesample

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Case is a sample on Linux as its device.
type Case struct {
	// Sample is its folder in config/samples.
	Sample string
	// Start starts the device, with an OpenSSH server at an address of this machine.
	Start func(t testing.TB, host string) *sshrouter.Linux
	// Running is the configuration of the device as its own programs print it; nil for the rules of its packet filter.
	Running func(l *sshrouter.Linux) string
	// Prepare gives the connected device what is no part of its rules; it may be nil.
	Prepare func(l *sshrouter.Linux)
	// Tests replace the tests of the benchmark by shorter ones, and FrameSize is their only size.
	Tests     string
	FrameSize int32
	// Fault is a further variant, made of the configuration of a variant by Break; there is none without Break.
	Fault, Of v1alpha1.VariantName
	Break     func(t testing.TB, configuration string) string
	// Uncounted reports whether the device counts none of the frames that do not arrive.
	Uncounted bool
	// Check holds rows of all variants against what the device does.
	Check func(t testing.TB, rows []v1alpha1.ResultRow)
}

// atTwoPercent is a test that Linux passes without loss, also next to the tester on two processors.
const atTwoPercent = "- {name: latency, latency: {loads: [2%], trialDuration: 500ms}}\n"

// atLowRate is a test that Open vSwitch in user space passes: what arrives in more than a second without its thread fits into the
// buffers of its sockets.
const atLowRate = "- {name: latency, latency: {loads: [0.2%], trialDuration: 1s}}\n"

// AccessLists compares no list with lists of 201 entries, of which one lacks the entry for one direction.
var AccessLists = Case{
	Sample: "acl", Start: sshrouter.StartLinuxAt, FrameSize: 128, Check: checkAccessLists,
	Tests: "- {name: throughput, throughput: {resolution: 1%, minLoad: 1%, maxLoad: 2%, trialDuration: 200ms, searchTrialDuration: 200ms}}\n" + atTwoPercent,
	Fault: "gap", Of: "last", Break: without("ip saddr 198.18.2.0/24 counter accept"),
}

// AccessListScale searches the number of entries of an access list with an effect: by latency, by a list that lacks the network of one
// direction, and by one that the device rejects. The longest list delays each frame by more than twice the bound.
var AccessListScale = Case{
	Sample: "acl-scale", Start: sshrouter.StartLinuxAt, FrameSize: 128, Check: checkAccessListScale,
	Tests: `
- {name: latency, configurationScale: {name: acl, load: 1kpps, minimum: 16, maximum: 16384, resolution: 1024, maxAddedLatency: 60us, waitTime: 0s, trialDuration: 1s}}
- {name: gap, configurationScale: {name: gap, load: 1kpps, maximum: 100, waitTime: 0s, trialDuration: 500ms}}
- {name: elsewhere, configurationScale: {name: elsewhere, load: 1kpps, waitTime: 0s, trialDuration: 200ms}}
`,
}

// AddLists adds the lists gap, without the network of one direction, and elsewhere, for an interface that Linux cannot have, to the bed of AccessListScale.
func AddLists(bed *v1alpha1.TestBed) {
	scales := &bed.Spec.Device.Physical.Management.SSH.Scales
	gap, elsewhere := (*scales)[0], (*scales)[0]
	gap.Name, gap.AccessList.Permit = "gap", gap.AccessList.Permit[:1]
	elsewhere.Name, elsewhere.AccessList.Ports = "elsewhere", []string{"e1", "an-interface-too"}
	*scales = append(*scales, gap, elsewhere)
}

// Resets resets a router with a packet filter: its forwarding, so that it forgets the filter, and a port. A trial has time for a slow login
// by SSH.
var Resets = Case{
	Sample: "device-reset", Start: sshrouter.StartLinuxAt, FrameSize: 128,
	Tests: `
- {name: restart, reset: {kind: Software, trigger: Device, load: 2%, leadTime: 500ms, trialDuration: 7s}}
- {name: flap, reset: {kind: Hardware, trigger: Device, method: Timestamp, load: 2%, leadTime: 500ms, trialDuration: 7s}}
`,
}

// NAT compares routing with translation of addresses, of which one is missing.
var NAT = Case{
	Sample: "nat", Start: sshrouter.StartLinuxAt, FrameSize: 78, Tests: atTwoPercent, Check: dropsOnly("missing", "static"),
	Fault: "missing", Of: "translated", Break: without(`oifname "e2" ip saddr 198.18.1.2 snat to 198.18.2.200`),
}

// Connections opens TCP connections through a router that translates addresses and holds 10,000 of them.
var Connections = Case{
	Sample: "connections-linux", Start: sshrouter.StartLinuxAt, FrameSize: 64,
	Tests: "- {name: capacity, connections: {measure: Capacity, connections: 10300, rate: 3000, timeout: 2500ms}}\n",
	Check: func(testing.TB, []v1alpha1.ResultRow) {},
}

// AddConnectionVariants adds variants of the router of Connections: one that forwards first and last packets at a limited rate, one with
// a smaller table, and ones with a fault.
func AddConnectionVariants(s *Sample) {
	const limit = `iifname "e1" ct state new ct count over 10000 counter drop`
	for name, rules := range map[v1alpha1.VariantName]string{
		"policed": `iifname "e1" ct state new limit rate over 500/second burst 20 packets counter drop
        iifname "e1" tcp flags fin limit rate over 300/second burst 20 packets counter drop`,
		"small":    `iifname "e1" ct state new ct count over 500 counter drop`,
		"lossy":    `iifname "e1" ct state new numgen inc mod 10 0 counter drop`,
		"refusing": `meta l4proto tcp iifname "e1" ct state new numgen inc mod 10 0 counter reject with tcp reset`,
		"misrouting": `}
      chain misrouting {
        type nat hook prerouting priority dstnat; policy accept;
        ip daddr 198.18.2.254 dnat to 198.18.2.253`,
	} {
		s.addVariant(name, strings.Replace(s.Configurations.Data["translated"], limit, rules, 1))
	}
}

// Mirror compares a bridge with one that copies the frames of a port to two others, and to one of them only.
var Mirror = Case{
	Sample: "mirror", Uncounted: true, Start: sshrouter.StartLinuxAt, FrameSize: 128, Tests: atTwoPercent, Check: checkMirror,
	Prepare: func(l *sshrouter.Linux) {
		run(l, "ip link add br0 type bridge mcast_snooping 0", "ip link set br0 up", "ip link set e1 master br0", "ip link set e2 master br0")
	},
	Fault: "dead", Of: "mirrored", Break: without(`dup to "e4"`),
}

// Filters has FRR learn 16 networks, and compares filters of half of them, of which one lacks an entry.
var Filters = Case{
	Sample: "filters", FrameSize: 128, Check: checkFilters,
	Start: func(t testing.TB, host string) *sshrouter.Linux {
		r := sshrouter.Start(t)
		r.Enter("configure terminal", "interface p1", "no ip address 198.18.1.1/24", "exit", "no ip route 198.18.100.0/24 198.18.1.9", "no router bgp 65001",
			"router bgp 65000", "no bgp ebgp-requires-policy", "neighbor 198.18.1.2 remote-as 65001", "neighbor 198.18.1.2 timers connect 1",
			"neighbor 198.18.2.2 remote-as 65002", "neighbor 198.18.2.2 timers connect 1")
		return r.PacketFilter(host)
	},
	Tests: "- {name: rate, forwardingRate: {maxLoad: 2%, step: 2%, trialDuration: 1s}}\n" + atTwoPercent,
	Fault: "entry-missing", Of: "ingress-deny", Break: without("ip daddr 198.18.70.0/24 counter drop"),
}

// core is the rate of the oversubscribed port of Classes, in Mbit/s: a hundredth of that in the sample, as the ports have a
// hundredth of the speed.
const core = 10

// Classes oversubscribes a port whose queues give three classes their shares, of which two are swapped.
var Classes = Case{
	Sample: "classes", Start: sshrouter.StartLinuxAt, FrameSize: 512, Check: checkClasses,
	Prepare: func(l *sshrouter.Linux) {
		run(l, "tc qdisc add dev e2 root handle 1: htb default 40", fmt.Sprintf("tc class add dev e2 parent 1: classid 1:1 htb rate %dmbit", core))
		for class, rate := range map[int]int{10: 720, 20: 200, 30: 50, 40: 50} {
			run(l, fmt.Sprintf("tc class add dev e2 parent 1:1 classid 1:%d htb rate %[2]dkbit ceil %[2]dkbit", class, rate*core),
				fmt.Sprintf("tc qdisc add dev e2 parent 1:%d pfifo limit 20", class))
		}
	},
	Tests: "- {name: oversubscribed, latency: {loads: [15.7%], trialDuration: 3s}}\n",
	Fault: "swapped", Of: "classes", Break: func(_ testing.TB, configuration string) string {
		return strings.NewReplacer("1:10", "1:20", "1:20", "1:10").Replace(configuration)
	},
}

// labels are the samples with Open vSwitch, which switches labels.
func labels(sample string, of v1alpha1.VariantName, lost string) Case {
	return Case{
		Sample: sample, FrameSize: 128, Tests: atLowRate, Check: checkLabels,
		Start:   func(t testing.TB, host string) *sshrouter.Linux { return &sshrouter.StartOpenVSwitchAt(t, host).Linux },
		Running: (*sshrouter.Linux).Flows,
		Prepare: func(l *sshrouter.Linux) {
			l.AddPort("e1", 1)
			l.AddPort("e2", 2)
			run(l, "ovs-ofctl -O OpenFlow13 add-flow br0 in_port=1,actions=output:2", "ovs-ofctl -O OpenFlow13 add-flow br0 in_port=2,actions=output:1",
				"ovs-ofctl -O OpenFlow13 add-flow br0 priority=0,actions=drop")
		},
		Fault: "missing", Of: of, Break: withoutLine(lost),
	}
}

// Labels compares labelled frames that are forwarded as they are with those whose label is swapped or popped; a flow for one direction is missing.
var Labels = labels("mpls", "swap", "mpls,in_port=1,mpls_label=1000 actions=set_field:2000->mpls_label,output:2")

// Push compares frames that are forwarded as they are with those that get a label.
var Push = labels("mpls-push", "push", "ip,in_port=1 actions=push_mpls:0x8847,set_field:1000->mpls_label,output:2")

// linuxLabels are the samples with the kernel of Linux in an emulated machine, which switches labels. It has no other routes than the
// base of the sample.
func linuxLabels(sample string, base ...string) Case {
	return Case{
		Sample: sample, FrameSize: 128, Fault: "missing", Tests: "- {name: latency, latency: {loads: [0.2%], trialDuration: 1s}}\n",
		// The machine has a management interface in place of an address of this machine.
		Start:   func(t testing.TB, _ string) *sshrouter.Linux { return sshrouter.StartMachine(t, 2, "mpls_iptunnel") },
		Running: (*sshrouter.Linux).Routes,
		Prepare: func(l *sshrouter.Linux) {
			run(l, "sysctl -qw net.mpls.platform_labels=10000 net.mpls.conf.e1.input=1 net.mpls.conf.e2.input=1", "ip -f mpls route flush proto boot", "ip route flush proto boot")
			run(l, base...)
		},
	}
}

// LinuxLabels compares frames whose label is swapped with those whose label is popped; the label of one direction is missing.
var LinuxLabels = func() Case {
	const back = "ip -f mpls route add 1001 as to 2001 via inet 198.18.1.2 dev e1"
	c := linuxLabels("mpls-linux", back, "ip -f mpls route add 1000 as to 2000 via inet 198.18.2.2 dev e2")
	c.Of, c.Break, c.Check = "swap", withoutLine(back), checkLinuxLabels
	return c
}()

// LinuxPush compares IP with frames that get a label; frames of one direction get none, and arrive as they are.
var LinuxPush = func() Case {
	c := linuxLabels("mpls-linux-push", "ip -4 route add 198.18.1.2 via 198.18.1.2 dev e1", "ip -4 route add 198.18.2.2 via 198.18.2.2 dev e2")
	c.Of, c.Break, c.Check = "push", withoutLine("ip -4 route add 198.18.1.2 encap mpls 1001 via 198.18.1.2 dev e1"), dropsOnly("", "")
	return c
}()

// Prepared starts the device of the case, connects the sample to it by interfaces whose names begin with a prefix, and adds the fault.
func (c *Case) Prepared(t testing.TB, host, prefix string) (*Sample, *sshrouter.Linux) {
	t.Helper()
	l := c.Start(t, host)
	return c.PreparedOn(t, l, prefix), l
}

// PreparedOn is Prepared with a device that has been started.
func (c *Case) PreparedOn(t testing.TB, l *sshrouter.Linux, prefix string) *Sample {
	t.Helper()
	s := Read(t, c.Sample)
	s.Connect(l, prefix)
	if c.Prepare != nil {
		c.Prepare(l)
	}
	s.Ask(t, c.Tests, c.FrameSize)
	if c.Break != nil {
		s.addVariant(c.Fault, c.Break(t, s.Configurations.Data[string(c.Of)]))
	}
	return s
}

func run(l *sshrouter.Linux, commands ...string) {
	for _, command := range commands {
		l.Run(strings.Fields(command)...)
	}
}

// without returns a function that removes a rule, which must be there.
func without(rule string) func(testing.TB, string) string { return withoutLine("    " + rule) }

// withoutLine returns a function that removes a line, which must be there.
func withoutLine(line string) func(testing.TB, string) string {
	return func(t testing.TB, configuration string) string {
		t.Helper()
		left := strings.Replace(configuration, line+"\n", "", 1)
		if left == configuration {
			t.Fatalf("there is no line %q in\n%s", line, configuration)
		}
		return left
	}
}
