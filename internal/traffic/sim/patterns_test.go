package sim

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// run runs one trial of streams on ports of 10G named p1 up.
func run(t *testing.T, model string, ports int, streams []traffic.Stream, trial traffic.Trial) traffic.Measurement {
	t.Helper()
	e, _ := pairs(t, model, ports)
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	return do(t, e, trial)
}

// nToN are streams from every port to all others, each with its share of the load
// and later than the one before.
func nToN(t *testing.T, ports int, ppm int64, stagger, d time.Duration) ([]traffic.Stream, traffic.Trial) {
	t.Helper()
	var streams []traffic.Stream
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}, Duration: d}
	for i := range ports {
		s := traffic.Stream{ID: uint16(i), TxPort: fmt.Sprintf("p%d", i+1), FrameSize: 64}
		for j := range ports {
			if i != j {
				s.RxPorts = append(s.RxPorts, fmt.Sprintf("p%d", j+1))
			}
		}
		l := load(t, 64, ppm, int64(ports-1))
		l.Delay = time.Duration(i) * stagger
		streams, trial.Loads[s.ID] = append(streams, s), l
	}
	return streams, trial
}

// Streams that begin later send for a shorter time, and at the capacity of the
// ports nothing is lost.
func TestStaggeredStreams(t *testing.T) {
	const stagger = 10 * time.Millisecond
	streams, trial := nToN(t, 4, 500_000, stagger, time.Second)
	m := run(t, half, 4, streams, trial)
	for _, s := range streams {
		l := trial.Loads[s.ID]
		want := frames(l.Rate, time.Second-l.Delay)
		if tx := m.Tx[s.ID]; tx.Sent != want || tx.Intended != want || tx.Duration != time.Second-l.Delay {
			t.Errorf("stream %d: %+v, want %d frames", s.ID, tx, want)
		}
		for _, port := range s.RxPorts {
			if rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: port}]; rx.Received != want || rx.Latency.MaxNs != 5000 {
				t.Errorf("stream %d at %s: received %d of %d, at most %d ns", s.ID, port, rx.Received, want, rx.Latency.MaxNs)
			}
		}
	}
	if len(m.Rx) != 12 {
		t.Errorf("%d receivers counted", len(m.Rx))
	}
}

// Above the capacity every port drops what is too much, once all send.
func TestStaggeredStreamsAboveTheCapacity(t *testing.T) {
	const stagger = 100 * time.Millisecond
	streams, trial := nToN(t, 4, 1_000_000, stagger, time.Second)
	m := run(t, half, 4, streams, trial)
	// Each stream is a third of line rate, the capacity half of it. p1 gets p2 from
	// 0.1 s on, p3 from 0.2 s and p4 from 0.3 s: 1/3 for 0.1 s passes, later 1/2.
	line := float64(tenGig) / (84 * 8)
	want := line * (0.1/3 + 0.8/2)
	var got float64
	for _, s := range streams[1:] {
		got += float64(m.Rx[traffic.RxKey{Stream: s.ID, Port: "p1"}].Received)
	}
	if d := got - want; d > 10 || d < -10 {
		t.Errorf("p1 received %.0f frames, want %.0f", got, want)
	}
}

// A burst of staggered ports takes as long as the last of them.
func TestStaggeredBurst(t *testing.T) {
	streams, trial := nToN(t, 4, 1_000_000, time.Millisecond, 0)
	for id, l := range trial.Loads {
		l.Frames = 100
		trial.Loads[id] = l
	}
	m := run(t, header+"\n64,100,1,2,3,0,0\n", 4, streams, trial)
	// 100 frames at a third of line rate take 20.16 us.
	if want := 3*time.Millisecond + 20_160*time.Nanosecond; m.TxTime != want {
		t.Errorf("sending took %s, want %s", m.TxTime, want)
	}
	for key, rx := range m.Rx {
		if rx.Received != 100 {
			t.Errorf("%+v received %d of 100", key, rx.Received)
		}
	}
}

// Streams that end at the same time share a phase.
func TestPhasesAreShared(t *testing.T) {
	flows := make([]flow, 60_000)
	for i := range flows {
		flows[i] = flow{sent: 100, from: time.Duration(i%2) * time.Millisecond, lasts: 5 * time.Millisecond}
	}
	want := []phase{{0, time.Millisecond}, {time.Millisecond, 5 * time.Millisecond}, {5 * time.Millisecond, 6 * time.Millisecond}, {6 * time.Millisecond, time.Second}}
	if got := phases(flows, time.Second); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("phases %v, want %v", got, want)
	}
}
