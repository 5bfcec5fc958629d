package xdp

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capture"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// roce makes a stream one of RoCEv2.
func roce(s *traffic.Stream) {
	s.Headers.RoCE = frame.RoCE{Opcode: 4, PartitionKey: 0xffff, DestinationQP: 0x123456}
	s.Headers.SrcPort, s.Headers.DstPort = 49152, frame.RoCEPort
	s.Headers.SrcPortCount, s.Headers.DstPortCount = 1, 1
}

// Frames of RoCEv2 arrive whole, and the bytes of each have a right ICRC: with and without
// ranges, with tags, over both families and with every payload, through XDP from p1 and through
// a packet socket from p2. Other streams of the ports do not disturb them.
func TestRoCE(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	const frames = 100
	e := bed.openCapturing(traffic.Capture{Frames: 1000, Bytes: 1514},
		Port{Name: "p1", Interface: "v1"}, Port{Name: "p2", Interface: "v2", Transmit: PacketSocket})
	var streams []traffic.Stream
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	add := func(size int, payload frame.Payload, changes ...func(*traffic.Stream)) {
		s := stream(uint16(len(streams)), e)
		roce(&s)
		s.FrameSize, s.Headers.Payload = size, payload
		for _, change := range changes {
			change(&s)
		}
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}
	}
	ipv6 := func(s *traffic.Stream) {
		s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2::2")
	}
	ranges := func(s *traffic.Stream) {
		s.Headers.SrcPortCount, s.Headers.SrcIPCount, s.Headers.DstIPCount = 999, 7, 3
	}
	tags := func(s *traffic.Stream) {
		s.Headers.VLANs, s.Headers.Labels = frame.VLANs{{ID: 3}, {ID: 4}}, []uint32{16, 17}
	}
	plain := func(s *traffic.Stream) {
		s.Headers.RoCE, s.FrameSize = frame.RoCE{}, 1400 // to the port of RoCEv2 all the same
	}
	back := func(s *traffic.Stream) { s.TxPort, s.RxPorts = "p2", []string{"p1"} }
	add(86, frame.Zeros)
	add(1514, frame.Random, ranges)
	add(106, frame.Random, ipv6)
	add(1054, frame.Alternating, ipv6, ranges)
	add(202, frame.Ones, tags)
	add(222, frame.Zeros, tags, ipv6, ranges)
	add(86, frame.Random, plain)
	add(86, frame.Zeros, back)
	add(1514, frame.Incrementing, back, ranges, ipv6)
	m := bed.run(e, streams, trial, arrived)
	for _, s := range streams {
		rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
		if m.Tx[s.ID].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered+rx.Congested != 0 {
			t.Errorf("stream %d of %d B: sent %d, received %+v, want %d", s.ID, s.FrameSize, m.Tx[s.ID].Sent, rx, frames)
		}
	}
	if len(m.Damaged)+len(m.Stale)+len(m.Misdelivered) > 0 {
		t.Errorf("damaged %v, stale %v, misdelivered %v", m.Damaged, m.Stale, m.Misdelivered)
	}
	right := map[uint16]int{}
	for _, f := range m.Captured {
		s := streams[f.Stream]
		if !s.Headers.RoCE.Given() {
			continue
		}
		p := kernel.Packet(s)
		ip := f.Data[p.NetworkOffset():]
		if got, want := frame.ICRC(ip), binary.LittleEndian.Uint32(ip[len(ip)-4:]); got != want {
			t.Fatalf("stream %d, frame %d: ICRC %08x, want %08x", f.Stream, f.Sequence, want, got)
		}
		if psn := binary.BigEndian.Uint32(f.Data[p.PSNOffset()-1:]); uint64(psn) != f.Sequence {
			t.Fatalf("stream %d, frame %d: sequence number %d", f.Stream, f.Sequence, psn)
		}
		right[f.Stream]++
	}
	for _, s := range streams {
		if s.Headers.RoCE.Given() && right[s.ID] != frames {
			t.Errorf("stream %d: %d frames with a right ICRC, want %d", s.ID, right[s.ID], frames)
		}
	}
	if name := os.Getenv("NODROP_CAPTURE"); name != "" { // for a look with another program
		file, err := os.Create(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := capture.Write(file, capture.Trial{Name: "RoCEv2", Frames: m.Captured}); err != nil {
			t.Fatal(err)
		}
	}
}

// A frame of RoCEv2 is damaged if a byte behind UDP was changed, whichever it is.
func TestDamagedRoCE(t *testing.T) {
	p := frame.Packet{
		Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), SrcPort: 49152, DstPort: frame.RoCEPort,
		RoCE: frame.RoCE{Opcode: 4, PartitionKey: 0xffff}, Size: 130, Payload: frame.Random,
	}
	b := newBench(t)
	n := uint64(0)
	for at := p.NetworkOffset() + 28; at < p.Size-4; at++ {
		data := b.packet(p, n)
		before, err := b.port.receive.strays()
		if err != nil {
			t.Fatal(err)
		}
		if got := b.receive(data); got != xdpDrop || b.flow().Received != n+1 {
			t.Fatalf("whole: action %d, received %d of %d", got, b.flow().Received, n+1)
		}
		n++
		data = b.packet(p, n)
		data[at]++
		b.receive(data)
		if got := b.since(before); b.flow().Received != n || got.damaged.Corrupted != 1 && at != p.SignatureOffset() && at != p.SignatureOffset()+1 {
			t.Errorf("byte %d: received %d of %d, %+v", at, b.flow().Received, n, got)
		}
	}
}

// Received frames with the mark CE are counted, once each, and no other marks.
func TestCongestedFrames(t *testing.T) {
	for name, p := range map[string]frame.Packet{
		"IPv4":   {Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), Size: 128},
		"IPv6":   {Src: netip.MustParseAddr("2001:2::1"), Dst: netip.MustParseAddr("2001:2::2"), Size: 128},
		"RoCEv2": {Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), DstPort: frame.RoCEPort, RoCE: frame.RoCE{Opcode: 4}, Size: 130},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var want uint64
			for n := range uint64(64) {
				p.TrafficClass = uint8(n) << 2 & 0xfc
				p.TrafficClass |= uint8(n) & 3
				for range 2 { // the second is a duplicate
					b.receive(b.packet(p, n))
				}
				if n&3 == 3 {
					want++
				}
			}
			if f := b.flow(); f.Received != 64 || f.Duplicate != 64 || f.Congested != want {
				t.Errorf("received %d, duplicate %d, congested %d, want 64, 64, %d", f.Received, f.Duplicate, f.Congested, want)
			}
		})
	}
}
