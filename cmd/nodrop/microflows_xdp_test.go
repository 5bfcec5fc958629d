package main

import (
	"strings"
	"testing"
)

const xdpMicroflows = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: microflows}
spec:
  testBedName: frr
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: latency
    latency: {loads: [20%], trialDuration: 1s}
`

// Every microflow of both directions is counted through a Linux router, from the profile to the row.
func TestRunCountsMicroflows(t *testing.T) {
	profile := strings.NewReplacer("[128, 9216]", "[128]", "{ipv4: {}}", "{ipv4: {hostsPerPort: 25}, udp: {sourcePorts: {first: 20001, count: 401}}, trackMicroflows: true}")
	document := runHere(t, xdpMicroflows, profile.Replace(xdpManifests))
	if len(document.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(document.Rows))
	}
	row := document.Rows[0]
	m := row.Microflows
	if m == nil || m.Tracked+m.Unsent != 2*10_025 || m.Tracked != m.Complete+m.Lossy+m.Silent || row.Frames.Sent == 2*16_891 && m.Unsent != 0 {
		t.Fatalf("microflows %+v of %+v", m, row.Frames)
	}
	if bad := m.Lossy + m.Silent; bad > row.Frames.Lost || (bad > 0) != (row.Frames.Lost > 0) || (bad > 0) != (len(m.Bad) > 0) {
		t.Errorf("microflows %+v, and %d frames were lost", m, row.Frames.Lost)
	}
}
