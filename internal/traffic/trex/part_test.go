package trex

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// A share of each stream's frames is timed, and the frames of both parts make up the load.
func TestTimedFrames(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		e := s.open(t, 100)
		configure(t, e, ipv4(t, e, 1), ipv4(t, e, 2), ipv4(t, e, 3))
		for range 2 {
			m := run(t, e, traffic.Trial{Loads: map[uint16]traffic.Load{
				1: {Rate: perSecond(2_000), Frames: 400}, 2: {Rate: perSecond(2_000), Frames: 301}, 3: {Rate: perSecond(50), Frames: 9},
			}})
			exactly(t, m, 400)
			// 400 frames take 0.2 s, 301 a little more than 0.15, and of 9 in 0.18 s all are timed.
			for id, want := range map[uint16]struct{ frames, timed uint64 }{1: {400, 20}, 2: {301, 16}, 3: {9, 9}} {
				rx := m.Rx[traffic.RxKey{Stream: id, Port: "right"}]
				l := rx.Latency
				if m.Tx[id].Sent != want.frames || rx.Received != want.frames || l.Count != want.timed {
					t.Errorf("stream %d: sent %d, received %d, timed %d: want %d, %d and %d", id, m.Tx[id].Sent, rx.Received, l.Count, want.frames, want.frames, want.timed)
				}
				if l.MinNs == 0 || l.MinNs*l.Count > l.SumNs || l.SumNs > l.MaxNs*l.Count || l.JitterCount != 0 {
					t.Errorf("latency %+v: want a mean between minimum and maximum, and no jitter", l)
				}
				if s.fake != nil && (l.MinNs != 6_000 || l.MaxNs != 4_321_000 && l.MaxNs != 4_999_999) {
					t.Errorf("latency from %d to %d ns: want 6 us, reported late, to 4321 us or the end of its bucket", l.MinNs, l.MaxNs)
				}
				var inBuckets uint64
				for _, n := range l.Buckets {
					inBuckets += n
				}
				if inBuckets != l.Count {
					t.Errorf("%d frames in buckets, %d counted", inBuckets, l.Count)
				}
			}
		}
	})
}

// The server times 128 streams at once, and refuses more; of a trial with more, as
// many are timed, and none is left out of the count.
func TestMoreStreamsThanAreTimed(t *testing.T) {
	everyServer(t, false, func(t *testing.T, s suite) {
		const n = 200
		e := s.open(t, 100)
		var streams []traffic.Stream
		loads := map[uint16]traffic.Load{}
		for id := range uint16(n) {
			streams = append(streams, ipv4(t, e, id))
			loads[id] = traffic.Load{Rate: perSecond(200), Frames: 40}
		}
		configure(t, e, streams...)
		m := run(t, e, traffic.Trial{Loads: loads})
		timed := 0
		for id := range uint16(n) {
			rx := m.Rx[traffic.RxKey{Stream: id, Port: "right"}]
			if m.Tx[id].Sent != 40 || rx.Received != 40 {
				t.Errorf("stream %d: sent %d, received %d: want 40 each", id, m.Tx[id].Sent, rx.Received)
			}
			switch rx.Latency.Count {
			case 20:
				timed++
			case 0:
			default:
				t.Errorf("stream %d: %d frames are timed: want 20 or none", id, rx.Latency.Count)
			}
		}
		if timed != maxLatencyStreams {
			t.Errorf("%d streams were timed: want %d", timed, maxLatencyStreams)
		}
	})
}

func TestSplit(t *testing.T) {
	s := stream{Stream: traffic.Stream{ID: 7}}
	for name, c := range map[string]struct {
		load traffic.Load
		d    time.Duration
		want string
	}{
		"a duration":           {traffic.Load{Rate: perSecond(100_000)}, 10 * time.Second, "rest 990000 of 99000/s after 10000 at 0s; probe 10000 of 1000/s at 250µs"},
		"a delay":              {traffic.Load{Rate: perSecond(100_000), Delay: 2 * time.Second}, 10 * time.Second, "rest 792000 of 99000/s after 8000 at 2s; probe 8000 of 1000/s at 2.00025s"},
		"a burst":              {traffic.Load{Rate: perSecond(100_000), Frames: 1_010}, 0, "rest 999 of 98910.89108910892/s after 11 at 0s; probe 11 of 1089.1089108910892/s at 229.545µs"},
		"a short burst":        {traffic.Load{Rate: perSecond(1_000_000), Frames: 10}, 0, "rest 9 of 900000/s after 1 at 0s; probe 1 of 100000/s at 2.5µs"},
		"a slow stream":        {traffic.Load{Rate: perSecond(500), Delay: time.Millisecond}, time.Second, "probe 499 of 500/s at 1ms"},
		"one frame":            {traffic.Load{Rate: perSecond(500), Frames: 1}, 0, "probe 1 of 500/s at 0s"},
		"as fast as can":       {traffic.Load{Max: true}, 10 * time.Second, "rest 18446744073709541615 of 50% after 10000 at 0s; probe 10000 of 1000/s at 250µs"},
		"a burst of the line":  {traffic.Load{Max: true, Frames: 1_000}, 0, "rest 999 of 50% after 1 at 0s; probe 1 of 1000/s at 0s"},
		"a frame of the line":  {traffic.Load{Max: true, Frames: 1}, 0, "probe 1 of 50% at 0s"},
		"more than are timed":  {traffic.Load{Rate: perSecond(1_000_000_000)}, 10 * time.Hour, "rest 35999964000000 of 9.99999e+08/s after 36000000 at 0s; probe 36000000 of 1000/s at 250µs"},
		"less than a frame":    {traffic.Load{Rate: traffic.Rate{Frames: 3, PerNanos: int64(time.Second)}}, time.Millisecond, "probe 1 of 3/s at 0s"},
		"a rate with fraction": {traffic.Load{Rate: traffic.Rate{Frames: 14_880_952_381, PerNanos: 10_000_000_000_000}}, time.Second, "rest 1487095 of 1.4870952379399969e+06/s after 1000 at 0s; probe 1000 of 1000.0001600032256/s at 249.999µs"},
	} {
		t.Run(name, func(t *testing.T) {
			n := intended(c.load, c.d)
			got := ""
			var sum uint64
			for _, p := range s.split(c.load, n, c.d, 1_000, phase{true, 0.25}, 50) {
				sum += p.frames
				unit := map[any]string{"pps": "/s", "percentage": "%"}[p.rate["type"]]
				if p.rule == ruleStats {
					got += fmt.Sprintf("rest %d of %v%s after %d at %v; ", p.frames, p.rate["value"], unit, p.from, p.delay)
				} else {
					got += fmt.Sprintf("probe %d of %v%s at %v", p.frames, p.rate["value"], unit, p.delay)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if sum != n {
				t.Errorf("the parts have %d frames: want %d", sum, n)
			}
		})
	}
}

// Probes are spread over all streams, and leave one after the other.
func TestPhases(t *testing.T) {
	for _, n := range []int{0, 1, 2, 127, 128, 129, 240, 1023} {
		timed, before, gap := 0, 0.0, 0
		for i, p := range phases(n) {
			gap++
			if !p.timed {
				continue
			}
			if p.at <= before || p.at >= 1 {
				t.Errorf("stream %d of %d begins at %v, and the one before at %v: want more, and less than 1", i, n, p.at, before)
			}
			if gap > n/maxLatencyStreams+1 {
				t.Errorf("%d streams of %d in a row are not timed", gap-1, n)
			}
			timed, before, gap = timed+1, p.at, 0
		}
		if timed != min(n, maxLatencyStreams) {
			t.Errorf("%d of %d streams are timed", timed, n)
		}
	}
}

// Both parts together send the range that one stream would send.
func TestPartsShareARange(t *testing.T) {
	s, err := newStream(ranged(func(h *traffic.Headers) { h.DstIPCount, h.SrcMACCount = 256, 3 }), traffic.MAC{2})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.instructions(ruleStats, 0)
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.instructions(ruleStats, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	begin := first[2]["init_value"].(uint64)
	if got := after[2]["init_value"]; got != begin+1_000%256 {
		t.Errorf("after 1000 frames the range continues with %v: want %d", got, begin+1_000%256)
	}
	words := first[0]["value_list"].([]uint32)
	if got := after[0]["value_list"].([]uint32); got[0] != words[1] || got[1] != words[2] || got[2] != words[0] {
		t.Errorf("after 1000 frames of 3 addresses they are %x: want those of %x from the second on", got, words)
	}
}

// Streams to many receivers are not timed, since the server does not report which one
// was late. Neither are streams to a port of another server.
func TestTimedAtOnePort(t *testing.T) {
	_, e := openFake(t, 1_000)
	for name, c := range map[string]struct {
		ports []string
		want  int
	}{"one": {[]string{"right"}, 2}, "many": {[]string{"left", "right"}, 1}, "another server's": {[]string{"elsewhere"}, 1}, "none": {nil, 1}} {
		s := ipv4(t, e, 1)
		s.RxPorts = c.ports
		configure(t, e, s)
		next, _, err := e.plan(frames(10_000, 10_000))
		if err != nil || len(next.parts()) != c.want {
			t.Errorf("%s: %d parts, %v: want %d", name, len(next.parts()), err, c.want)
		}
	}
}
