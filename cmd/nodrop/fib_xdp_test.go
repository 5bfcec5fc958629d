package main

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/routing"
)

// fibPeers are the manifests of a router of three ports, of which the second announces so many
// IPv6 routes, and the first sends to them.
func fibPeers(routes uint32) string {
	rest := peers(fmt.Sprintf(`{name: table, first: "2001:2:0:1000::/80", count: %d}`, routes))
	rest = strings.Replace(rest, "{name: peer, asn:", "{name: peer, port: p2, asn:", 1)
	rest = strings.Replace(rest, "pattern: {pairs: {}}", "pattern: {partialMesh: {senders: [p1], receivers: [p2]}}", 1)
	rest = strings.Replace(rest, "---\n", `  - name: p3
    node: lab-1
    attachment: {hostDevice: {interface: nd-p3}}
    speed: 100M
    addresses: [198.18.3.2/24, "2001:2:0:3::2/64"]
    gateways: [198.18.3.1, "2001:2:0:3::1"]
---
`, 1)
	return overIPv6(strings.ReplaceAll(rest, "speed: 100M", "speed: 10G"))
}

// fibFaults are faults of a forwarding table that its router does not know, one in a thousand
// routes: half of these are dropped, and the others leave by the third port, and by the sender's.
func fibFaults(routes uint32) (batch string, dropped []string, misrouted []v1alpha1.MisroutedPrefix) {
	set := routing.Routes{First: netip.MustParsePrefix("2001:2:0:1000::/80")}
	var b strings.Builder
	for i := uint32(377); i < routes; i += 1000 {
		prefix := set.Prefix(i)
		specific := netip.PrefixFrom(prefix.Addr(), 96)
		switch i / 1000 % 4 {
		case 1:
			misrouted = append(misrouted, v1alpha1.MisroutedPrefix{Prefix: prefix.String(), Port: "p3"})
			fmt.Fprintf(&b, "route add %v via 2001:2:0:3::2 dev p3\n", specific)
		case 3:
			misrouted = append(misrouted, v1alpha1.MisroutedPrefix{Prefix: prefix.String(), Port: "p1"})
			fmt.Fprintf(&b, "route add %v via 2001:2:0:1::2 dev p1\n", specific)
		default:
			dropped = append(dropped, prefix.String())
			fmt.Fprintf(&b, "route add blackhole %v\n", specific)
		}
	}
	return b.String(), dropped, misrouted
}

// ipBatch runs commands of ip in the network namespace of a process.
func ipBatch(t *testing.T, pid int, commands string) {
	t.Helper()
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	cmd := exec.Command("ip", "-6", "-batch", "-")
	cmd.Stdin = strings.NewReader(commands)
	if err := netif.In(ns, func() error {
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Of a router whose kernel drops or misroutes one in a thousand of its routes behind its back
// exactly these are named, each with the port at which its frames arrive.
func TestRunFIBTruth(t *testing.T) {
	for _, kind := range standalone.Routers {
		t.Run(kind, func(t *testing.T) {
			needsRouter(t, kind)
			rare(t, kind == router.BIRD)
			routes := uint32(20_000)
			wait := "2s"
			if !testing.Short() {
				routes, wait = 200_000, "20s"
			}
			batch, dropped, misrouted := fibFaults(routes)
			began := time.Now()
			p := startPeers(t, peersBenchmark("{name: truth, fibTruth: {probesPerSecond: 40000, waitTime: "+wait+"}}"), fibPeers(routes), "--router", kind)
			_, pid := routerOf(t, p)
			ipBatch(t, pid, batch)
			document := endPeers(t, p)
			if len(document.Rows) != 1 {
				t.Fatalf("%d rows: %s", len(document.Rows), document.Message)
			}
			row := document.Rows[0]
			f := row.FIBTruth
			if f == nil {
				t.Fatalf("%s %v %s", row.Validity, row.ValidityReasons, row.Message)
			}
			byPrefix := func(a, b v1alpha1.MisroutedPrefix) int {
				return netip.MustParsePrefix(a.Prefix).Addr().Compare(netip.MustParsePrefix(b.Prefix).Addr())
			}
			if f.Routes != int64(routes) || f.Forwarded != f.Routes-int64(len(dropped)+len(misrouted)) || !slices.Equal(f.DroppedPrefixes, dropped) || !slices.IsSortedFunc(f.MisroutedPrefixes, byPrefix) || !slices.Equal(f.MisroutedPrefixes, misrouted) {
				t.Errorf("%+v: want %v dropped and %v misrouted", f, dropped, misrouted)
			}
			if f.Delay == nil && (strings.Contains(row.Message, "raise waitTime") || strings.Contains(row.Message, "there are no delays: ")) {
				t.Skipf("the machine is too busy for a router to program its routes in time, or for the tester to time them: %s", row.Message)
			}
			turn := int64(time.Second) * int64(routes) / 40_000
			if d := f.Delay; d == nil || d.Routes != f.Forwarded || d.P50Ns <= 0 || d.P99Ns < d.P50Ns || d.LastNs < d.P99Ns || d.ResolutionNs < turn {
				t.Errorf("%+v: %s", d, row.Message)
			}
			usage, _ := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%s, %d routes: %+v, %d probes lost, %v in all, peak of the largest of its processes %d MiB; %s", kind, routes, f.Delay, f.LostProbes, time.Since(began).Round(time.Millisecond), usage.Maxrss>>10, row.Validity)
		})
	}
}
