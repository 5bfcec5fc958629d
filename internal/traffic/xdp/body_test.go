package xdp

import (
	"net/netip"
	"testing"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// Streams of one port with different payloads, headers and sizes arrive whole, through XDP
// from p1 and through a packet socket from p2, and a later trial without payloads as well.
func TestPayloads(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	for _, name := range []string{"v1", "v2"} {
		l, err := bed.nl.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := bed.nl.LinkSetMTU(l, 9000); err != nil {
			t.Fatal(err)
		}
	}
	e := bed.open(Port{Name: "p1", Interface: "v1"}, Port{Name: "p2", Interface: "v2"})
	const frames = 5000
	var streams []traffic.Stream
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	add := func(size int, payload frame.Payload, change func(*traffic.Stream)) {
		s := stream(uint16(len(streams)), e)
		s.FrameSize, s.Headers.Payload = size, payload
		change(&s)
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 2000, PerNanos: 1e9}, Frames: frames}
	}
	same := func(*traffic.Stream) {}
	ipv6 := func(s *traffic.Stream) {
		s.Headers.SrcIP, s.Headers.DstIP, s.Headers.SrcPortCount = netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2::2"), 99
	}
	ether := func(s *traffic.Stream) { etherOnly(&s.Headers) }
	tunnel := func(s *traffic.Stream) {
		s.Headers.Tunnel = frame.Tunnel{Kind: frame.VXLAN, Src: s.Headers.SrcIP, Dst: s.Headers.DstIP}
	}
	back := func(s *traffic.Stream) { s.TxPort, s.RxPorts = "p2", []string{"p1"} }
	add(64, frame.Random, same) // has no room
	add(74, frame.Random, same)
	add(75, frame.Ones, same)
	add(1518, frame.Random, same)
	add(333, frame.Zeros, same)
	add(86, frame.Alternating, ipv6)
	add(1279, frame.Incrementing, ipv6)
	add(64, frame.Alternating, ether)
	add(777, frame.Ones, ether)
	add(200, frame.Random, tunnel)
	add(9018, frame.Random, back)
	add(64, frame.Zeros, back)
	check := func(m traffic.Measurement) {
		t.Helper()
		for _, s := range streams {
			rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
			if m.Tx[s.ID].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
				t.Errorf("stream %d of %d B, payload %q: sent %d, received %d, duplicate %d, reordered %d, want %d",
					s.ID, s.FrameSize, s.Headers.Payload, m.Tx[s.ID].Sent, rx.Received, rx.Duplicate, rx.Reordered, frames)
			}
		}
		if len(m.Damaged)+len(m.Stale)+len(m.Misdelivered) > 0 {
			t.Errorf("damaged %v, stale %v, misdelivered %v", m.Damaged, m.Stale, m.Misdelivered)
		}
	}
	check(bed.run(e, streams, trial, arrived))
	for i := range streams {
		streams[i].Headers.Payload = frame.Zeros
	}
	check(bed.run(e, streams, trial, arrived))
}
