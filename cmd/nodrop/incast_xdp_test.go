package main

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestRunIncast measures the sample incast-linux over the queue that it describes, and over a large one: the goodput
// collapses over the first only.
func TestRunIncast(t *testing.T) {
	needsRoot(t)
	// Small and slow, so that a busy machine is not the limit.
	sample := changedSample(t, "incast-linux", "rate: 500M", "rate: 50M", "totalSize: 1000000", "totalSize: 200000", "iterations: 20", "iterations: 5", "[1, 2, 4, 8, 16, 32]", "[1, 32]")
	for name, tc := range map[string]struct {
		buffer    string
		collapses bool
	}{"small buffer": {"32000", true}, "large buffer": {"8000000", false}} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(sample, "bufferBytes: 32000", "bufferBytes: "+tc.buffer, 1)
			document := runText(t, changed)
			rows := byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodIncast: 2})[v1alpha1.MethodIncast]
			one, many := rows[0].Incast, rows[1].Incast
			if rows[0].Servers != 1 || rows[1].Servers != 32 || one.Collapsed != nil || many.Collapsed == nil {
				t.Fatalf("%s and %s, collapsed %v and %v", rows[0].Name(), rows[1].Name(), one.Collapsed, many.Collapsed)
			}
			if *many.Collapsed != tc.collapses || (many.CollapsedFrom != nil) != tc.collapses {
				t.Errorf("collapsed %v, from %v, want %v", *many.Collapsed, many.CollapsedFrom, tc.collapses)
			}
			if tc.collapses && (many.Timeouts == 0 || many.Retransmissions == 0) {
				t.Errorf("a collapse with %d timeouts and %d retransmissions", many.Timeouts, many.Retransmissions)
			}
			for _, s := range []*v1alpha1.IncastSummary{one, many} {
				if s.CongestionControl != "reno" || s.MTU != 1500 || s.Iterations != 5 || s.Bytes != 200_000 {
					t.Errorf("%+v", s)
				}
				if s.DeviceDrops == nil || (*s.DeviceDrops > 0) != (tc.collapses && s == many) && s == many {
					t.Errorf("drops of the device: %v", s.DeviceDrops)
				}
				if s.ReceivedBytes < 5*200_000 {
					t.Errorf("the client received %d bytes", s.ReceivedBytes)
				}
			}
		})
	}
}

// TestRunIncastNextToFrames sends frames next to the connections of the sample incast-linux, over the queue that it describes. The device has
// dropped as many packets as frames and segments are lost.
func TestRunIncastNextToFrames(t *testing.T) {
	needsRoot(t)
	sample := changedSample(t, "incast-linux", "rate: 500M", "rate: 50M", "totalSize: 1000000", "totalSize: 200000", "iterations: 20", "iterations: 2", "[1, 2, 4, 8, 16, 32]", "[1, 8]",
		"  trafficProfileName: incast-linux", "  trafficProfileName: incast-linux\n  settleTime: 300ms\n  restTime: 0s", "congestionControl: reno", "congestionControl: reno\n      stateless: {load: 3%, frameSize: 512}")
	document := runText(t, sample)
	for _, row := range byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodIncast: 2})[v1alpha1.MethodIncast] {
		in, s := row.Incast, row.Incast.Stateless
		if s == nil || in.DeviceDrops == nil || in.Iterations != 2 || in.CongestionControl != "reno" {
			t.Fatalf("%s: %+v", row.Name(), in)
		}
		t.Logf("%+v, latency %+v, %d dropped, %q", *s, s.Latency, *in.DeviceDrops, row.ValidityReasons)
		if s.LoadPPM != 30_000 || s.FrameSize != 512 || s.Sent == 0 || s.Sent != s.Received+s.Lost || s.Latency == nil || s.Latency.MinNs <= 0 {
			t.Errorf("%s: %+v", row.Name(), s)
		}
		tester := slices.ContainsFunc(row.TrialRecords.Trials, func(r v1alpha1.TrialRecord) bool { return slices.Contains(r.Reasons, v1alpha1.TrialTesterLost) })
		if lost := s.Lost + s.TCPSegmentsLost; lost != *in.DeviceDrops && !tester {
			t.Errorf("%s: %d frames and %d segments are lost, and the device dropped %d packets", row.Name(), s.Lost, s.TCPSegmentsLost, *in.DeviceDrops)
		}
	}
	recomputes(t, document)
}
