package method

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// Frames in flight when a sample is taken are no loss of its interval, at any rate.
func TestFramesInFlightAreNotLost(t *testing.T) {
	t.Parallel()
	sample := func(n int, sent, received uint64) traffic.Sample {
		return traffic.Sample{At: time.Duration(n) * time.Second, Sent: sent, Received: received}
	}
	all := rated([]traffic.Sample{sample(1, 100, 90), sample(2, 200, 150), sample(3, 300, 258), sample(4, 400, 360), sample(5, 500, 459), sample(6, 600, 560)}, 0)
	var lost []uint64
	for _, i := range all {
		lost = append(lost, i.sent-i.received)
	}
	if want := []uint64{10, 30, 0, 0, 0, 0}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if e := all.until(500*time.Millisecond, 6*time.Second, whollyForwarded); e.took != 1500*time.Millisecond || !e.seen {
		t.Errorf("all frames are forwarded after %v (%v)", e.took, e.seen)
	}
}

// Frames that were in flight when others began to be lost do not prolong the event before:
// a sample every 100 ms, of 200 frames each, where frames take 4 ms.
func TestFramesInFlightBeforeTheNextEvent(t *testing.T) {
	t.Parallel()
	var samples []traffic.Sample
	for n := range uint64(10) {
		samples = append(samples, traffic.Sample{At: time.Duration(n+1) * 100 * time.Millisecond, Sent: 200 * (n + 1), Received: 200*(n+1) - 8*(n/5)})
	}
	samples = append(samples, traffic.Sample{At: 1100 * time.Millisecond, Sent: 2200, Received: 2000})
	end := 900 * time.Millisecond
	if e := rated(samples, 0).until(0, end, whollyForwarded); e.seen && e.took == 0 {
		t.Error("the frames in flight are not seen at all: this test shows nothing")
	}
	if e := rated(samples, 4*time.Millisecond).until(0, end, whollyForwarded); e.took != 0 || !e.seen {
		t.Errorf("all frames are forwarded after %v (%v), want from the beginning", e.took, e.seen)
	}
	if e := rated(samples, time.Hour).until(0, 1100*time.Millisecond, whollyForwarded); e.seen {
		t.Errorf("all frames are forwarded after %v, though the last 200 are lost", e.took)
	}
}

// Where samples are missing, a time is known less exactly; an event without any sample has
// none.
func TestMissingSamplesLowerTheResolution(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	all := intervals{
		{from: 0, to: ms(100), sent: 100, received: 100},
		{from: ms(100), to: ms(800), sent: 700, received: 650},
		{from: ms(800), to: ms(900), sent: 100, received: 100},
	}
	var times eventTimes
	times.add(all.until(ms(200), ms(1000), whollyForwarded), 0)
	if s := times.summary(); s.MaxNs != int64(ms(600)) || times.within != ms(600) || unsampledEvents(times) != "" {
		t.Errorf("%+v known to %v: %s", s, times.within, unsampledEvents(times))
	}
	times.add(all.until(ms(100), ms(1000), whollyForwarded), 0)
	times.add(all.until(ms(910), ms(1000), whollyForwarded), 0)
	if s := times.summary(); s.MaxNs != int64(ms(700)) || times.within != ms(700) || s.Unseen != 0 || times.unsampled != 1 {
		t.Errorf("%+v known to %v, %d without a sample", s, times.within, times.unsampled)
	}
	if want, got := "1 of the events have no time", unsampledEvents(times); !strings.HasPrefix(got, want) {
		t.Errorf("message %q, want %s", got, want)
	}
}
