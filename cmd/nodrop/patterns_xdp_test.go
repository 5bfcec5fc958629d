package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// bridgedBed has four ports in one network, without gateways: the device is a
// bridge then, which forwards groups to those that have joined them.
const bridgedBed = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: bridge}
spec:
  device: {containerlab: {node: dut, topology: {configMapRef: {name: bridge, key: topology.clab.yaml}}}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: lab-1, attachment: {hostDevice: {interface: nd-p1}}, speed: 100M, addresses: [198.18.1.1/24, "2001:2::1/64"]}
  - {name: p2, node: lab-1, attachment: {hostDevice: {interface: nd-p2}}, speed: 100M, addresses: [198.18.1.2/24, "2001:2::2/64"]}
  - {name: p3, node: lab-1, attachment: {hostDevice: {interface: nd-p3}}, speed: 100M, addresses: [198.18.1.3/24, "2001:2::3/64"]}
  - {name: p4, node: lab-1, attachment: {hostDevice: {interface: nd-p4}}, speed: 100M, addresses: [198.18.1.4/24, "2001:2::4/64"]}
  policy: {vlans: [{first: 7}, {first: 100}], tunnels: true}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pattern}
spec:
  frameSizes: [128]
`

const patternBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: pattern}
spec:
  testBedName: bridge
  trafficProfileName: pattern
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: latency
    latency: {loads: [1%], trialDuration: 500ms}
`

// Every pattern goes through a real Linux bridge with real frames, and every
// receiver gets what is its own.
func TestRunPatternsOverBridge(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern, packet string
		receivers       int64
		groups          int32
		rare            bool
	}{
		"full mesh of Ethernet": {"{fullMesh: {}}", "{ethernet: {hostsPerPort: 20}}", 1, 0, true},
		"partial mesh":          {"{partialMesh: {senderCount: 3, bidirectional: true}}", "{ipv4: {}, dscp: 46}", 1, 0, true},
		"fan-out":               {"{fanOut: {sender: p2, groups: 5}}", "{ipv4: {}}", 3, 5, true},
		"fan-out over IPv6":     {"{fanOut: {groups: 2}}", "{ipv6: {}}", 3, 2, true},
		"mixed class":           {"{mixedClass: {groups: 6}}", "{ipv4: {}}", 3, 6, true},
		"mixed class by 1 to 3": {"{mixedClass: {sender: p3, groups: 2, unicastFrames: 3}}", "{ipv6: {}}", 3, 2, false},
		"VXLAN in two tags":     {"{pairs: {}}", "{ipv4: {}, vlan: {id: 100, service: {id: 7}}, tunnel: {vxlan: {vni: 5000}}}", 1, 0, false},
		"N to N":                {"{nToN: {}}", "{ipv4: {}}", 3, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, tc.rare)
			document := runHere(t, patternBenchmark, bridgedBed+"  pattern: "+tc.pattern+"\n  packet: "+tc.packet+"\n")
			if len(document.Rows) != 1 {
				t.Fatalf("%d rows", len(document.Rows))
			}
			row := document.Rows[0]
			t.Log(report.RowLine(row))
			due := tc.receivers * row.Frames.Sent
			if c := row.Classes; c != nil {
				due = tc.receivers*c.Multicast.Sent + c.Unicast.Sent
				for class, of := range map[string]v1alpha1.ClassSummary{"multicast": c.Multicast, "unicast": c.Unicast} {
					if of.Sent == 0 || of.Received == 0 || of.Lost > of.Received/10 && !lostByMachine(t, row) {
						t.Errorf("%s: %+v", class, of)
					}
				}
				if row.Frames.Sent != c.Multicast.Sent+c.Unicast.Sent || row.Frames.Received != c.Multicast.Received+c.Unicast.Received {
					t.Errorf("classes %+v of %+v", c, row.Frames)
				}
				if ratio := map[bool]int64{true: 3, false: 1}[tc.groups == 2]; c.Unicast.Sent < ratio*(c.Multicast.Sent-1)-tc.receivers || c.Unicast.Sent > ratio*(c.Multicast.Sent+int64(tc.groups))+tc.receivers {
					t.Errorf("%d of unicast, and %d of multicast: want a ratio of %d", c.Unicast.Sent, c.Multicast.Sent, ratio)
				}
			}
			if (row.Classes != nil) != strings.Contains(tc.pattern, "mixedClass") {
				t.Errorf("classes: %+v", row.Classes)
			}
			if row.Frames.Sent == 0 || row.Frames.Received != due-row.Frames.Lost || row.Frames.Lost > row.Frames.Received/10 && !lostByMachine(t, row) {
				t.Errorf("sent %d to %d receivers each, received %d, lost %d", row.Frames.Sent, tc.receivers, row.Frames.Received, row.Frames.Lost)
			}
			// Every receiver of groups has a latency of its own.
			if l := row.MulticastLatency; (l != nil) != (tc.groups > 0) || l != nil && (len(l) < int(tc.receivers) || l[0].MinNs <= 0 || l[0].AvgNs < l[0].MinNs || l[0].MaxNs < l[0].AvgNs) {
				t.Errorf("latency by port: %+v", l)
			}
			switch m := row.Multicast; {
			case tc.groups == 0 && m != nil:
				t.Errorf("groups of unicast: %+v", m)
			case tc.groups > 0 && (m == nil || m.Groups != tc.groups || int64(m.Receivers) != tc.receivers || m.MinFrames == 0):
				t.Errorf("groups: %+v", m)
			}
		})
	}
}
