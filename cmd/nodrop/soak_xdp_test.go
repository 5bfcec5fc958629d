package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// The rates of a soak over a router are sampled while it runs, and add up to what
// arrived.
func TestRunSoakSeriesOverRouter(t *testing.T) {
	longtest.Skip(t, "TestRunMethodsOverRouter with a soak, and the sample soak with its series")
	const tests = `  - name: soak
    soak: {load: 2%, duration: 1s, samplingInterval: 100ms}
`
	rest := withPattern(routedBed(), "{pairs: {}}", "{ipv4: {}}")
	row := byMethod(t, runHere(t, benchmarkOf(tests), rest), map[v1alpha1.Method]int{v1alpha1.MethodSoak: 1})[v1alpha1.MethodSoak][0]
	s := row.Series
	if s == nil || s.Samples < 2 || s.Samples > 10 || s.Points.Len() != int(s.Samples) || s.Points.MinReceivedFramesPerSecond != nil {
		t.Fatalf("series %+v, want up to ten samples", s)
	}
	least, most := s.Points.ReceivedFramesPerSecond[0], int64(0)
	var received, sent, slack, before int64 // in thousandths of a frame
	for i := range s.Points.Len() {
		out, in, end := s.Points.SentFramesPerSecond[i], s.Points.ReceivedFramesPerSecond[i], s.EndMilliseconds(i)
		took := end - before
		if took <= 0 {
			t.Errorf("point %d ends at %d ms, and the one before at %d ms", i, end, before)
		}
		received, sent = received+took*in, sent+took*out
		// Ends are known to a millisecond or two, and rates to whole frames per second.
		slack += 3*(in+out) + took
		least, most, before = min(least, in), max(most, in), end
	}
	if s.MinReceivedFramesPerSecond != least || s.MaxReceivedFramesPerSecond != most || most == 0 {
		t.Errorf("%d to %d frames/s, and the points have %d to %d", s.MinReceivedFramesPerSecond, s.MaxReceivedFramesPerSecond, least, most)
	}
	if off := received - before*s.AvgReceivedFramesPerSecond; off > slack || off < -slack {
		t.Errorf("the points have %d thousandths of a frame, %d ms at %d frames/s have %d", received, before, s.AvgReceivedFramesPerSecond, before*s.AvgReceivedFramesPerSecond)
	}
	if received > 1000*row.Frames.Received+slack || sent > 1000*row.Frames.Sent+slack || row.Frames.Received != row.Frames.Sent-row.Frames.Lost || row.Frames.Sent == 0 {
		t.Errorf("the points have %d received and %d sent thousandths of a frame, the row %d and %d frames", received, sent, row.Frames.Received, row.Frames.Sent)
	}
}
