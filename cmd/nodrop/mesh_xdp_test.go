package main

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// routedBed is bridgedBed with a network of its own and a gateway at every port: the
// device is a router then.
func routedBed() string {
	var pairs []string
	for i := 1; i <= 4; i++ {
		pairs = append(pairs, fmt.Sprintf(`[198.18.1.%d/24, "2001:2::%d/64"]`, i, i),
			fmt.Sprintf(`[198.18.%d.2/24, "2001:2:0:%d::2/64"], gateways: [198.18.%d.1, "2001:2:0:%d::1"]`, i, i, i, i))
	}
	return strings.NewReplacer(pairs...).Replace(bridgedBed)
}

// Throughput, and latency at it, of everything that the catalogue sends to many
// ports at once: every frame of a throughput comes back at every port that is to
// receive it.
func TestRunMeshes(t *testing.T) {
	const tests = `  - name: throughput
    throughput: {resolution: 2%, minLoad: 0.5%, maxLoad: 5%, trialDuration: 300ms, searchTrialDuration: 200ms}
  - name: latency
    latency: {loads: [throughput], trialDuration: 300ms}
`
	for name, tc := range map[string]struct {
		bed, pattern, packet string
		receivers            int64
	}{
		"Ethernet over a bridge":         {bridgedBed, "{fullMesh: {}}", "{ethernet: {hostsPerPort: 4}, vlan: {id: 100}}", 1},
		"IPv4 over a router":             {routedBed(), "{fullMesh: {}}", "{ipv4: {hostsPerPort: 4}}", 1},
		"IPv6 over a router":             {routedBed(), "{fullMesh: {}}", "{ipv6: {}}", 1},
		"Ethernet multicast by a bridge": {bridgedBed, "{fanOut: {groups: 8}}", "{ipv4: {}}", 3},
		"N-to-N multicast by a bridge":   {bridgedBed, "{nToN: {stagger: 64us}}", "{ipv4: {}}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, name != "Ethernet over a bridge" && name != "N-to-N multicast by a bridge")
			rows := byMethod(t, runHere(t, benchmarkOf(tests), withPattern(tc.bed, tc.pattern, tc.packet)), map[v1alpha1.Method]int{
				v1alpha1.MethodThroughput: 1, v1alpha1.MethodLatency: 1,
			})
			found, at := rows[v1alpha1.MethodThroughput][0], rows[v1alpha1.MethodLatency][0]
			if nothingPassed(t, found) {
				return
			}
			if found.Frames.LineRatePPM < 5000 || found.Frames.Lost != 0 || found.Frames.Sent == 0 || found.Frames.Received != tc.receivers*found.Frames.Sent {
				t.Errorf("throughput of %d ppm: sent %d, received %d, lost %d (%s)", found.Frames.LineRatePPM, found.Frames.Sent, found.Frames.Received, found.Frames.Lost, found.Message)
			}
			if at.Frames.LineRatePPM != found.Frames.LineRatePPM || at.Frames.Sent == 0 || at.Frames.Received != tc.receivers*at.Frames.Sent-at.Frames.Lost {
				t.Errorf("latency at %d ppm: sent %d, received %d, lost %d", at.Frames.LineRatePPM, at.Frames.Sent, at.Frames.Received, at.Frames.Lost)
			}
			for _, row := range []v1alpha1.ResultRow{found, at} {
				l := row.Latency
				if l == nil || l.MinNs <= 0 || l.MinNs > l.AvgNs || l.AvgNs > l.MaxNs || l.JitterAvgNs == nil || *l.JitterAvgNs < 0 {
					t.Errorf("%s: latency %+v", row.Test, l)
				}
				if m := row.Multicast; (m != nil) != (tc.receivers > 1) || m != nil && (int64(m.Receivers) != tc.receivers || m.MinFrames == 0) {
					t.Errorf("%s: groups %+v", row.Test, m)
				}
			}
		})
	}
}
