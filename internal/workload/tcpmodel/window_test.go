package tcpmodel

import (
	"math"
	"testing"
	"time"
)

// TestGrowth holds windows to one segment per round trip after slow start, and slow start to its limit per
// acknowledgment.
func TestGrowth(t *testing.T) {
	for limit, want := range map[int]int{1: 15, 2: 20} {
		w := newWindow(TCP{CongestionControl: Reno, InitialWindow: 10, GrowthLimit: limit})
		for range 5 {
			w.grow(2, 0, 0)
		}
		if w.size != want {
			t.Errorf("limit %d: window %d after 10 segments in slow start, want %d", limit, w.size, want)
		}
	}
	w := newWindow(TCP{CongestionControl: Reno, InitialWindow: 10, GrowthLimit: 2, SSThresholdSegments: 10})
	for range 10 {
		w.grow(1, 0, 0)
	}
	if w.size != 11 {
		t.Errorf("window %d after a round trip of congestion avoidance, want 11", w.size)
	}
}

// TestReductions compares the reactions to a loss and to marks.
func TestReductions(t *testing.T) {
	for c, want := range map[CongestionControl]int{Reno: 50, DCTCP: 50, Cubic: 70} {
		w := newWindow(TCP{CongestionControl: c, InitialWindow: 100, GrowthLimit: 1})
		if got := w.reduced(); got != want {
			t.Errorf("%s: window %d after a loss, want %d", c, got, want)
		}
	}
	w := newWindow(TCP{CongestionControl: DCTCP, InitialWindow: 100, GrowthLimit: 1})
	for i := range int64(400) { // each second window is marked
		w.countMarks(50, false, i*100, i*100+50)
		w.countMarks(50, true, i*100+50, i*100+100)
	}
	if math.Abs(w.share-0.5) > 0.05 {
		t.Errorf("share of marks %.2f, want 0.5", w.share)
	}
	if got := w.reducedByMarks(); got < 73 || got > 77 {
		t.Errorf("window %d after marks of half of the segments, want 75", got)
	}
}

// TestCubic holds the window to its maximum before the loss at the time that RFC 9438 names.
func TestCubic(t *testing.T) {
	w := newWindow(TCP{CongestionControl: Cubic, InitialWindow: 1000, GrowthLimit: 1, SSThresholdSegments: 1})
	w.size = w.reduced()
	const roundTrip = int64(100 * time.Millisecond)
	whole := time.Duration(math.Cbrt(1000*0.3/0.4) * 1e9)
	for now := roundTrip; now < int64(whole)+roundTrip; now += roundTrip {
		w.grow(w.size, now, roundTrip)
	}
	if w.size < 970 || w.size > 1030 {
		t.Errorf("window %d after %v, want about 1000", w.size, whole)
	}
}

// TestThresholds fills queues up to a static share, a dynamic threshold and the common buffer.
func TestThresholds(t *testing.T) {
	p := Defaults()
	p.Servers = 2
	for _, c := range []struct {
		name        string
		device      Switch
		first, both int // frames of 1000 bytes that one server, and then a second one, can queue
	}{
		{"common buffer", Switch{Buffering: OutputBuffer, BufferBytes: 10_000}, 10, 10},
		{"share of the output", Switch{Buffering: OutputBuffer, BufferBytes: 10_000, PortBytes: 4000}, 4, 4},
		{"share of the input", Switch{Buffering: InputBuffer, BufferBytes: 10_000, PortBytes: 4000}, 4, 8},
		{"inputs fill the common buffer", Switch{Buffering: InputBuffer, BufferBytes: 6000, PortBytes: 4000}, 4, 6},
		{"threshold of 1", Switch{Buffering: InputBuffer, BufferBytes: 10_000, Alpha: 1}, 5, 8},
	} {
		p.Switch = c.device
		n := newNetwork(p)
		queued := 0
		for server, want := range []int{c.first, c.both} {
			for range 20 {
				if n.arrive(frame{bytes: 1000, flow: int32(server)}, false) {
					queued++
				}
			}
			if queued != want {
				t.Errorf("%s: %d frames after server %d, want %d", c.name, queued, server, want)
			}
		}
		if n.used != queued*1000 || n.dropped != 40-queued {
			t.Errorf("%s: %d bytes used, %d dropped, %d queued", c.name, n.used, n.dropped, queued)
		}
	}
}

// TestTurns lets an input with a long queue and one with a short queue send in turn.
func TestTurns(t *testing.T) {
	p := Defaults()
	p.Servers, p.Switch = 2, Switch{Buffering: InputBuffer, PortBytes: 100_000}
	n := newNetwork(p)
	for i := range 4 {
		n.arrive(frame{bytes: 1000, flow: 0, segment: int64(i)}, false)
	}
	n.arrive(frame{bytes: 1000, flow: 1}, false)
	var order []int32
	for n.begin() {
		order = append(order, n.sending.flow)
	}
	if len(order) != 5 || order[0] != 0 || order[1] != 1 || n.busy {
		t.Errorf("frames left in the order %v of their servers, want 0 1 0 0 0", order)
	}
}
