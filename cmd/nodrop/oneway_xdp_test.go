package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/report"
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
			document := runHere(t, patternBenchmark, bridgedBed+"  "+profile+"\n")
			if len(document.Rows) == 0 {
				t.Fatal("no rows")
			}
			for _, row := range document.Rows {
				t.Log(report.RowLine(row))
				if row.Sent == 0 || row.Received != row.Sent-row.Lost || row.Lost > row.Received/10 {
					t.Errorf("sent %d, received %d, lost %d", row.Sent, row.Received, row.Lost)
				}
				if strings.Contains(row.Message, "were not for it") {
					t.Errorf("frames were flooded: %s", row.Message)
				}
			}
		})
	}
}
