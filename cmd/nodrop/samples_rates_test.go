package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// rates checks samples that measure throughput and then latency at four loads: the
// frames/s at each frame size, and that the last latency is at that rate.
func rates(framesPerSecond ...int64) func(*testing.T, []v1alpha1.ResultRow) {
	return func(t *testing.T, rows []v1alpha1.ResultRow) {
		t.Helper()
		n := len(framesPerSecond)
		if len(rows) != 5*n {
			t.Fatalf("%d rows, want %d", len(rows), 5*n)
		}
		for i, want := range framesPerSecond {
			found, at := rows[i], rows[n+4*i+3]
			if found.Frames.FramesPerSecond != want || found.Frames.Lost != 0 || found.Method != v1alpha1.MethodThroughput {
				t.Errorf("%d B: %d frames/s with %d lost, want %d", found.FrameSize, found.Frames.FramesPerSecond, found.Frames.Lost, want)
			}
			if at.Frames.FramesPerSecond != want || at.Frames.Lost != 0 || at.Load != v1alpha1.LoadThroughput || at.Latency == nil || at.FrameSize != found.FrameSize {
				t.Errorf("latency at throughput of %d B: %+v", found.FrameSize, at)
			}
		}
	}
}
