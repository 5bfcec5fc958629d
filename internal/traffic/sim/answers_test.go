package sim

import (
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// A receiver answers as many marks as the interval allows, and the first in any case.
func TestAnswersToMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		marked   uint64
		interval time.Duration
		want     uint64
	}{
		"none":                           {0, 50 * time.Microsecond, 0},
		"one":                            {1, time.Hour, 1},
		"every mark":                     {1000, 0, 1000},
		"marks further apart":            {1000, 999 * time.Microsecond, 1000},
		"marks an interval apart":        {1000, time.Millisecond, 1000},
		"every second":                   {1000, 1001 * time.Microsecond, 500},
		"a million in 50 µs":             {1_000_000, 50 * time.Microsecond, 20_000},
		"as many as fit after the first": {1000, 300 * time.Millisecond, 4},
	} {
		if got := answersTo(tc.marked, tc.interval, time.Second); got != tc.want {
			t.Errorf("%s: %d answers, want %d", name, got, tc.want)
		}
	}
}

// Receivers answer marked frames of RoCEv2, and their senders receive the answers.
func TestAnswersMarkedFrames(t *testing.T) {
	const model = header + ",ecn_marked_ppm,ecn_onset_percent\n130,100,1,2,3,0,0,250000,0\n"
	for name, tc := range map[string]struct {
		cnp  frame.CNP
		want uint64
	}{
		"all marks":  {frame.CNP{Answers: true}, 250_000},
		"in 50 µs":   {frame.CNP{Answers: true, Interval: 50 * time.Microsecond}, 19_231},
		"no answers": {frame.CNP{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := sendAs(t, model, time.Second, func(s *traffic.Stream) {
				s.Headers.TrafficClass, s.FrameSize = traffic.ECT0, 130
				s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2")
				s.Headers.RoCE = frame.RoCE{Opcode: 4, CNP: tc.cnp}
			}, traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1000}})[0]
			if got.Received != 1_000_000 || got.Congested != 250_000 || got.Notified != tc.want {
				t.Errorf("%d answers to %d marks of %d frames, want %d", got.Notified, got.Congested, got.Received, tc.want)
			}
		})
	}
}
