package xdp

import (
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// What finds the ring of the tester's own veth full is lost in the tester, and not
// in the device, though the kernel counts it at the device's end of the cable.
func TestFullRingIsTheTesters(t *testing.T) {
	t.Setenv(transmitVariable, "") // copied frames do not come in bulks that fill the ring
	bed := newBed(t)
	d := bed.device()
	// Or the device's own neighbor discovery finds the ring full, and is counted too.
	d.in(d.ns, func() { d.sysctl("net/ipv6/conf/all/disable_ipv6", "1") })
	// Of the 64 frames that the device takes at a time each comes 17 times, and the
	// ring holds 256.
	d.disturb(settings{"copy_every": uint32(1), "copies": uint32(16)})
	e := bed.open(d.ports(nil, nil)...)
	const frames = 20_000
	var lost uint64
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: frames}}},
		func(m traffic.Measurement) bool {
			rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
			lost = frames + d.faults().Copied - rx.Received - rx.Duplicate
			return m.Dropped["p2"] == lost
		})
	t.Logf("received %d of %d, and the ring was full for %d frames and copies", received(m), sent(m), lost)
	if lost == 0 || m.Dropped["p2"] != lost || len(m.Dropped) != 1 {
		t.Errorf("dropped %v: want some frames and copies at p2, which are the %d that did not come back", m.Dropped, lost)
	}
}

// Frames that a port of the tester was refused by another one are sent again, and
// not lost.
func TestRefusedFramesAreNotDropped(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: 300_000}}}, arrived)
	if !arrived(m) || len(m.Dropped) > 0 {
		t.Errorf("sent %d, received %d, dropped %v", sent(m), received(m), m.Dropped)
	}
}
