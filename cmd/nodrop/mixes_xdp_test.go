package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

const xdpMixes = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: mixes}
spec:
  testBedName: frr
  trafficProfileName: mixes
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: throughput
    throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 20%, trialDuration: 500ms, searchTrialDuration: 200ms}
  - name: latency
    latency: {loads: [throughput], trialDuration: 500ms}
  - name: recovery
    recovery: {overloadDuration: 300ms, reducedDuration: 300ms, repetitions: 1}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: mixes}
spec:
  frameMixes:
  - {name: simple, imix: Simple}
  - {name: genome, genome: aaafz, mtu: 9000}
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`

// A profile of mixes alone runs over a real Linux router, and has only the rows of
// the mixes.
func TestRunMixesOverRouter(t *testing.T) {
	longtest.Skip(t, "TestMixOverARouter of the engine, and the sample imix")
	document := runHere(t, xdpMixes, xdpManifests)
	measured(t, document, 6)
	// Bytes of a round of the mix, without what a frame costs in addition to them, per frame.
	average := map[string]float64{"simple": 4246. / 12, "genome": (3*64. + 1280 + 9018) / 5}
	for i, row := range document.Rows {
		if want := []string{"simple", "genome"}[i%2]; row.FrameMix != want || row.FrameSize != 0 {
			t.Errorf("row %d is of %s, want mix %s", i, row.SizeName(), want)
		}
		bytes := float64(row.Frames.BitsPerSecond) / 8 / float64(row.Frames.FramesPerSecond)
		if off := bytes/average[row.FrameMix] - 1; off > 0.001 || off < -0.001 {
			t.Errorf("mix %s: %.1f bytes per frame, want %.1f", row.FrameMix, bytes, average[row.FrameMix])
		}
		if row.Method == v1alpha1.MethodRecovery && row.Recovery == nil {
			t.Errorf("recovery of mix %s: %q", row.FrameMix, row.Message)
		}
	}
}
