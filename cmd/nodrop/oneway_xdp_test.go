package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// A receiver that sends nothing itself tells the bridge where it is before the
// trials: frames to it go to no other port.
func TestRunOneWayOverBridge(t *testing.T) {
	for name, profile := range map[string]string{
		"pairs over IPv4":   "pattern: {pairs: {bidirectional: false}}\n  packet: {ipv4: {}}",
		"pairs over IPv6":   "pattern: {pairs: {bidirectional: false}}\n  packet: {ipv6: {}}",
		"pairs of Ethernet": "pattern: {pairs: {bidirectional: false}}\n  packet: {ethernet: {hostsPerPort: 20}}",
		"tagged Ethernet":   "pattern: {pairs: {bidirectional: false}}\n  packet: {ethernet: {}, vlan: {id: 7}}",
		"partial mesh":      "pattern: {partialMesh: {senderCount: 2}}\n  packet: {ipv4: {}}",
		"partial Ethernet":  "pattern: {partialMesh: {senderCount: 1}}\n  packet: {ethernet: {}}",
		"a mix":             "pattern: {pairs: {bidirectional: false}}\n  packet: {ethernet: {}}\n  frameMixes: [{name: two, weights: [{frameSize: 128, weight: 2}, {frameSize: 512, weight: 1}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, name != "tagged Ethernet")
			document := runHere(t, patternBenchmark, bridgedBed+"  "+profile+"\n")
			if len(document.Rows) == 0 {
				t.Fatal("no rows")
			}
			for _, row := range document.Rows {
				t.Log(report.RowLine(row))
				if row.Frames.Sent == 0 || row.Frames.Received != row.Frames.Sent-row.Frames.Lost || row.Frames.Lost > row.Frames.Received/10 && !lostByMachine(t, row) {
					t.Errorf("sent %d, received %d, lost %d", row.Frames.Sent, row.Frames.Received, row.Frames.Lost)
				}
				if strings.Contains(row.Message, "were not for it") {
					t.Errorf("frames were flooded: %s", row.Message)
				}
			}
		})
	}
}

const switchBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: switch}
spec:
  testBedName: bridge
  trafficProfileName: pattern
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: broadcast
    broadcast: {maxLoad: 4%, minLoad: 1%, resolution: 2%, trialDuration: 300ms, searchTrialDuration: 200ms}
  - name: blocking
    headOfLineBlocking: {trialDuration: 500ms}
  - name: congestion
    congestionControl: {trialDuration: 500ms}
`

// The methods of RFC 2889 with streams of their own send the profile's packets over
// a real bridge, which floods none but the broadcasts.
func TestRunOwnStreamsOverBridge(t *testing.T) {
	longtest.Skip(t, "TestRunAddressesOverBridge, and the bridges of the engine with slow ports")
	for name, packet := range map[string]string{
		"IPv4":            "{ipv4: {}, dscp: 46}",
		"IPv6":            "{ipv6: {}}",
		"tagged Ethernet": "{ethernet: {hostsPerPort: 7}, vlan: {id: 7, priority: 3}}",
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, name != "tagged Ethernet")
			profile := strings.Replace(bridgedBed, "frameSizes: [128]", "frameSizes: [1518]", 1) + "  pattern: {pairs: {}}\n  packet: " + packet + "\n"
			document := runHere(t, switchBenchmark, profile)
			if len(document.Rows) != 3 {
				t.Fatalf("%d rows", len(document.Rows))
			}
			for _, row := range document.Rows {
				t.Log(report.RowLine(row), row.Message)
				if row.Frames.Sent == 0 || row.Frames.Received == 0 || strings.Contains(row.Message, "were not for it") {
					t.Errorf("%s: sent %d, received %d: %s", row.Test, row.Frames.Sent, row.Frames.Received, row.Message)
				}
			}
			if b := document.Rows[0].Broadcast; b == nil || b.Receivers != 3 || b.ForwardingRate == 0 || b.LatencyAvgNs == nil {
				t.Errorf("broadcasts: %+v", b)
			}
		})
	}
}
