package runner

import (
	"reflect"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// chassis is the sample of 256 ports with another pattern, at one frame size and
// between loads that make the search short.
func chassis(t *testing.T, p v1alpha1.Pattern) Config {
	t.Helper()
	cfg := sample(t)
	cfg.Profile.Spec.Pattern, cfg.Profile.Spec.FrameSizes = p, []int32{64}
	search := cfg.Benchmark.Spec.Tests[0].Throughput
	search.MinLoad, search.MaxLoad, search.Resolution = "69.687%", "69.688%", "0.0001%"
	cfg.Benchmark.Spec.Tests[1].Latency.Loads = []v1alpha1.Load{v1alpha1.LoadThroughput}
	return cfg
}

// measured are the rows of a run, which all have the throughput of the table.
func measured(t *testing.T, cfg Config) []v1alpha1.ResultRow {
	t.Helper()
	started := time.Now()
	state := runSim(t, cfg)
	t.Logf("%d trials in %s", state.Progress.TrialsDone, time.Since(started))
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 2 {
		t.Fatalf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	for _, row := range state.Rows {
		if row.Frames.LineRatePPM != 696_875 || row.Frames.Lost != 0 || row.Validity != v1alpha1.ValiditySimulated {
			t.Errorf("%s: %+v", row.Test, row)
		}
		if l := row.Latency; l == nil || l.MinNs != 1510 || l.AvgNs != 2377 || l.MaxNs != 4240 || *l.JitterAvgNs != 129 || *l.JitterMaxNs != 1720 {
			t.Errorf("%s: latency %+v, want that of the table", row.Test, l)
		}
	}
	return state.Rows
}

// A full mesh of 256 ports is 65,280 streams, and finds what pairs find.
func TestFullMeshOfAChassis(t *testing.T) {
	longtest.Skip(t, "TestPublishedTablesComeBack with the same mesh")
	for _, row := range measured(t, chassis(t, v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}})) {
		if row.Frames.FramesPerSecond != 26_547_619_048 || row.Frames.Sent != row.Frames.Received || row.Multicast != nil {
			t.Errorf("%s: %+v", row.Test, row)
		}
	}
}

// Frames of groups are counted where they are received: at 255 ports.
func TestGroupsOfAChassis(t *testing.T) {
	for _, row := range measured(t, chassis(t, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 100}})) {
		if row.Frames.FramesPerSecond != 26_443_917_411 || row.Frames.Received != 255*row.Frames.Sent {
			t.Errorf("%s: %d frames/s, %d sent, %d received", row.Test, row.Frames.FramesPerSecond, row.Frames.Sent, row.Frames.Received)
		}
		want := v1alpha1.MulticastSummary{Groups: 100, Receivers: 255, MinFrames: row.Frames.Received / 100, MaxFrames: row.Frames.Received / 100,
			MinFramesPerSecond: 264_439_174, MaxFramesPerSecond: 264_439_174}
		if row.Multicast == nil || !reflect.DeepEqual(*row.Multicast, want) {
			t.Errorf("%s: %+v, want %+v", row.Test, row.Multicast, want)
		}
	}
}

// Every port of an N-to-N pattern begins 64 us after the one before.
func TestNToNOfAChassis(t *testing.T) {
	longtest.Skip(t, "TestGroupsOfAChassis, and the sample n-to-n")
	for _, row := range measured(t, chassis(t, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}})) {
		if row.Frames.FramesPerSecond != 26_547_619_048 || row.Frames.Received != 255*row.Frames.Sent {
			t.Errorf("%s: %+v", row.Test, row)
		}
		// The first port sends for 60 s, the last for 16.32 ms less.
		m := row.Multicast
		if m == nil || m.Groups != 256 || m.Receivers != 255 || m.MaxFrames != 6_222_098_175 {
			t.Fatalf("%s: %+v", row.Test, m)
		}
		if want := m.MaxFrames - m.MaxFrames*16_320/60_000_000; m.MinFrames < want-255 || m.MinFrames > want+255 {
			t.Errorf("%s: %d frames of the last group, want %d", row.Test, m.MinFrames, want)
		}
	}
}
