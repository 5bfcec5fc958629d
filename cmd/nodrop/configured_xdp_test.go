package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// flowsOf returns the flows of a row by their names.
func flowsOf(row v1alpha1.ResultRow) map[string]v1alpha1.FlowSummary {
	flows := map[string]v1alpha1.FlowSummary{}
	for _, f := range row.Flows {
		flows[f.Name] = f
	}
	return flows
}

// TestRunNAT measures Linux that translates addresses, of one address on a port and of all with their ports on another,
// and with a translation that is missing: the row names the flow that it drops.
func TestRunNAT(t *testing.T) {
	l := newLinuxDevice(t, 3)
	whole := generated(t, "nat", "--dialect", "nftables", "--inside", "198.18.1.0/24", "--static", "e2=198.18.1.2=198.18.2.200", "--pat", "e3=198.18.3.200")
	static := "\t\toifname \"e2\" ip saddr 198.18.1.2 snat to 198.18.2.200\n"
	d := l.measure(`  frameSizes: [78, 512]
  flows:
  - {name: static, share: 50%, pattern: {partialMesh: {senders: [p1], receivers: [p2]}}, packet: {ipv4: {}}}
  - {name: pat, share: 50%, pattern: {partialMesh: {senders: [p1], receivers: [p3]}}, packet: {ipv4: {}, udp: {sourcePorts: {first: 20001, count: 100}}}}
`, latencyAt2Percent,
		variant{"routed", "flush ruleset\n"}, variant{"translated", whole}, variant{"missing", strings.Replace(whole, static, "", 1)})
	if len(d.Rows) != 6 {
		t.Fatalf("%d rows: %s", len(d.Rows), d.Message)
	}
	for _, row := range d.Rows {
		for name, f := range flowsOf(row) {
			want := f.Sent
			if row.Variant == "missing" && name == "static" {
				want = 0
			}
			if f.Sent == 0 || f.Received != want {
				t.Errorf("%s, %d B: flow %s: %d of %d frames were received, want %d", row.Variant, row.FrameSize, name, f.Received, f.Sent, want)
			}
		}
	}
}

const latencyAt2Percent = `  - name: latency
    latency: {loads: [2%], trialDuration: 500ms}
`

// TestRunMirror measures a bridge that copies the frames of a port to two others, and one that copies them to one: the
// row names the port that gets none.
func TestRunMirror(t *testing.T) {
	l := newLinuxDevice(t, 4)
	l.Run("ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
	l.Run("ip", "link", "set", "br0", "up")
	for _, port := range []string{"e1", "e2"} {
		l.Run("ip", "link", "set", port, "master", "br0")
	}
	l.bridged = true
	mirror := func(to string) string {
		return generated(t, "mirror", "--dialect", "nftables", "--from", "e1", "--to", to)
	}
	d := l.measure(`  frameSizes: [128]
  pattern: {fanOut: {sender: p1}}
  packet: {ipv4: {}}
`, latencyAt2Percent, variant{"mirrored", mirror("e3,e4")}, variant{"dead", mirror("e3")})
	if len(d.Rows) != 2 {
		t.Fatalf("%d rows: %s", len(d.Rows), d.Message)
	}
	for _, row := range d.Rows {
		var timed, silent []string
		for _, port := range row.MulticastLatency {
			timed = append(timed, port.Port)
		}
		wantTimed, lost := []string{"p2", "p3", "p4"}, int64(0)
		if row.Variant == "dead" {
			wantTimed, silent, lost = wantTimed[:2], []string{"p4"}, row.Frames.Sent
		}
		if f := row.Frames; f.Sent == 0 || f.Lost != lost || !slices.Equal(timed, wantTimed) || row.Multicast == nil || !slices.Equal(row.Multicast.SilentReceivers, silent) {
			t.Errorf("%s: %d frames sent and %d lost, latency of %v, silent: %+v", row.Variant, f.Sent, f.Lost, timed, row.Multicast)
		}
	}
}

// TestRunFilters measures FRR on Linux over 16 learned networks, with filters of half of them: with those that allow
// all frames arrive, and with those that deny half of them.
func TestRunFilters(t *testing.T) {
	needsRouter(t, "frr")
	l := newLinuxDeviceOf(t, 2, func() *sshrouter.Linux {
		r := sshrouter.Start(t)
		r.Enter("configure terminal", "interface p1", "no ip address 198.18.1.1/24", "exit", "no ip route 198.18.100.0/24 198.18.1.9", "no router bgp 65001", "router bgp 65000", "no bgp ebgp-requires-policy", "neighbor 198.18.1.2 remote-as 65001", "neighbor 198.18.2.2 remote-as 65002", "neighbor 198.18.1.2 timers connect 1", "neighbor 198.18.2.2 timers connect 1")
		return r.PacketFilter()
	})
	l.routing = "  routing: {bgp: {deviceASN: 65000, sessions: [{name: peer, asn: 65001}]}}\n"
	filter := func(direction, action string) variant {
		return variant{direction + "-" + action, generated(t, "filter", "--dialect", "nftables", "--ports", "e1,e2", "--direction", direction, "--first", "198.18.68.0/24", "--count", "8", "--action", action)}
	}
	d := l.measure(`  frameSizes: [128]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
  routing: {routes: [{name: networks, first: 198.18.64.0/24, count: 8}]}
`, `  - name: rate
    forwardingRate: {maxLoad: 2%, step: 2%, trialDuration: 1s}
  - name: latency
    latency: {loads: [2%], trialDuration: 500ms}
`, variant{"plain", "flush ruleset\n"}, filter("ingress", "allow"), filter("ingress", "deny"), filter("egress", "allow"), filter("egress", "deny"))
	if len(d.Rows) != 10 {
		t.Fatalf("%d rows: %s", len(d.Rows), d.Message)
	}
	for _, row := range d.Rows {
		share := 1.0
		if strings.HasSuffix(string(row.Variant), "-deny") {
			share = 0.5
		}
		// Frames go to the networks in turn: those to half of them are half of the frames, but for an incomplete turn.
		if f := row.Frames; f.Sent == 0 || math.Abs(float64(f.Received)-share*float64(f.Sent)) > 8 {
			t.Errorf("%s %s: %d of %d frames were received, want %.1f %%", row.Variant, row.Test, f.Received, f.Sent, 100*share)
		}
	}
}

// TestRunClasses oversubscribes a port of Linux, whose queues give three classes their shares: the first one loses nothing.
// With two classes swapped the row names the ones that lose.
func TestRunClasses(t *testing.T) {
	l := newLinuxDevice(t, 2)
	// A core of 10 Mbit/s. The frames of all classes have one length, so that shares of bytes are shares of frames.
	tc := func(args string) { l.Run(append([]string{"tc"}, strings.Fields(args)...)...) }
	tc("qdisc add dev e2 root handle 1: htb default 30")
	tc("class add dev e2 parent 1: classid 1:1 htb rate 10mbit")
	for class, share := range map[int]int{10: 7200, 20: 2000, 30: 500} {
		tc(fmt.Sprintf("class add dev e2 parent 1:1 classid 1:%d htb rate %dkbit ceil %dkbit", class, share, share))
		tc(fmt.Sprintf("qdisc add dev e2 parent 1:%d pfifo limit 20", class))
	}
	classes := func(gold, silver string) string {
		return generated(t, "classes", "--dialect", "nftables", "--port", "e2", "--class", "cs5="+gold+",cs3="+silver, "--default", "1:30")
	}
	flow := func(name string, share float64, precedence int) string {
		return fmt.Sprintf("  - {name: %s, share: %.1f%%, pattern: {partialMesh: {senders: [p1], receivers: [p2]}}, packet: {ipv4: {}, ipPrecedence: %d}}\n", name, share, precedence)
	}
	d := l.measure("  frameSizes: [512]\n  flows:\n"+flow("gold", 46.7, 5)+flow("silver", 33.3, 3)+flow("bronze", 20, 0),
		"  - name: loss\n    latency: {loads: [15.7%], trialDuration: 3s}\n",
		variant{"right", classes("1:10", "1:20")}, variant{"swapped", classes("1:20", "1:10")})
	if len(d.Rows) != 2 {
		t.Fatalf("%d rows: %s", len(d.Rows), d.Message)
	}
	// What the core carries at 10 Mbit/s, in frames without FCS.
	const core = 10e6 / 8 / 508
	for _, row := range d.Rows {
		want := map[string]float64{"gold": 70, "silver": 20, "bronze": 5}
		lossless := "gold"
		if row.Variant == "swapped" { // Silver offers 50 % of the core.
			want, lossless = map[string]float64{"gold": 20, "silver": 50, "bronze": 5}, "silver"
		}
		for name, f := range flowsOf(row) {
			share := 100 * float64(f.ReceivedFramesPerSecond) / core
			if math.Abs(share-want[name]) > 1 || (f.Lost == 0) != (name == lossless) {
				t.Errorf("%s: %s has %.2f %% of the core and lost %d of %d frames, want %.0f %%, and no loss of %s only", row.Variant, name, share, f.Lost, f.Sent, want[name], lossless)
			}
		}
	}
}
