package xdp

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// A device that works on its own, as a NIC does, holds frames when a run of the
// transmit program ends. The kernel keeps what it made for a run until they are back, so
// that many short runs exhaust it within seconds on a quiet machine: a whole trial of 64
// streams is one run, and every frame of it is accounted for.
func TestADeviceThatHoldsFrames(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	usable, err := processors()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d1", "d2"} {
		d.gro(name, true)
		d.threaded(name, usable[len(usable)-1])
	}
	e := bed.open(d.ports(nil, nil)...)
	const streams = 64
	var all []traffic.Stream
	trial := traffic.Trial{Duration: 8 * time.Second, Loads: map[uint16]traffic.Load{}}
	for i := range streams {
		s := stream(uint16(i+1), e)
		s.Headers.SrcPort += uint16(i)
		all = append(all, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 12_000, PerNanos: 1e9}}
	}
	m := bed.run(e, all, trial, func(m traffic.Measurement) bool { return received(m)+bed.dropped() == sent(m) })
	t.Logf("sent %d in %v by %d runs, received %d, the device dropped %d; %+v", sent(m), m.TxTime, e.trial.senders[0].live.runs, received(m), bed.dropped(), m.Pacing["p1"])
	for id, tx := range m.Tx {
		if tx.Intended != 96_000 || tx.Sent == 0 || tx.Sent > tx.Intended {
			t.Errorf("stream %d: %+v, want up to 96000 frames", id, tx)
		}
	}
	if got := received(m) + bed.dropped(); got != sent(m) {
		t.Errorf("received %d, and the device dropped %d: together %d, want the %d that were sent", received(m), bed.dropped(), got, sent(m))
	}
	for key, rx := range m.Rx {
		if rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("stream %d: duplicate %d, reordered %d", key.Stream, rx.Duplicate, rx.Reordered)
		}
	}
}
