package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The rates of a soak over a router are sampled while it runs, and add up to what
// arrived.
func TestRunSoakSeriesOverRouter(t *testing.T) {
	const tests = `  - name: soak
    soak: {load: 2%, duration: 1s, samplingInterval: 100ms}
`
	rest := withPattern(routedBed(), "{pairs: {}}", "{ipv4: {}}")
	row := byMethod(t, runHere(t, benchmarkOf(tests), rest), map[v1alpha1.Method]int{v1alpha1.MethodSoak: 1})[v1alpha1.MethodSoak][0]
	s := row.Series
	if s == nil || s.Samples < 2 || s.Samples > 10 || len(s.Points) != int(s.Samples) {
		t.Fatalf("series %+v, want up to ten samples", s)
	}
	least, most := s.Points[0].ReceivedFramesPerSecond, int64(0)
	var received, sent, slack, before int64 // in thousandths of a frame
	for _, p := range s.Points {
		took := p.OffsetMilliseconds - before
		if took <= 0 || p.MinReceivedFramesPerSecond != nil {
			t.Errorf("%+v after %d ms", p, before)
		}
		received, sent = received+took*p.ReceivedFramesPerSecond, sent+took*p.SentFramesPerSecond
		// Offsets are whole milliseconds, and rates whole frames per second.
		slack += p.ReceivedFramesPerSecond + p.SentFramesPerSecond + took
		least, most, before = min(least, p.ReceivedFramesPerSecond), max(most, p.ReceivedFramesPerSecond), p.OffsetMilliseconds
	}
	if s.MinReceivedFramesPerSecond != least || s.MaxReceivedFramesPerSecond != most || most == 0 {
		t.Errorf("%d to %d frames/s, and the points have %d to %d", s.MinReceivedFramesPerSecond, s.MaxReceivedFramesPerSecond, least, most)
	}
	if off := received - before*s.AvgReceivedFramesPerSecond; off > slack || off < -slack {
		t.Errorf("the points have %d thousandths of a frame, %d ms at %d frames/s have %d", received, before, s.AvgReceivedFramesPerSecond, before*s.AvgReceivedFramesPerSecond)
	}
	if received > 1000*row.Received+slack || sent > 1000*row.Sent+slack || row.Received != row.Sent-row.Lost || row.Sent == 0 {
		t.Errorf("the points have %d received and %d sent thousandths of a frame, the row %d and %d frames", received, sent, row.Received, row.Sent)
	}
}
