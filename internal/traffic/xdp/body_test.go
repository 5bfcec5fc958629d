package xdp

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Streams of one port with different payloads, headers and sizes arrive whole, through XDP
// from p1 and through a packet socket from p2, and a later trial without payloads as well.
func TestPayloads(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	bed.takeJumboFrames(bed.nl, "v1", "v2")
	e := bed.open(Port{Name: "p1", Interface: "v1"}, Port{Name: "p2", Interface: "v2", Transmit: PacketSocket})
	const frames = 1000
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
	custom := func(bytes string) func(*traffic.Stream) {
		return func(s *traffic.Stream) {
			etherOnly(&s.Headers)
			s.Headers.Custom = []byte(bytes)
		}
	}
	add(70, frame.Zeros, custom("\x88\xf7PTP, with its own bytes in front"))
	add(1000, frame.Random, custom("\x08\x00E"+strings.Repeat("long headers, ", 40)))
	add(300, frame.Zeros, func(s *traffic.Stream) {
		custom("\x88\xb5")(s)
		s.Headers.VLANs = frame.VLANs{{ID: 3}, {ID: 4}}
	})
	add(9018, frame.Ones, func(s *traffic.Stream) { custom("\x88\xf7back")(s); back(s) })
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
		streams[i].Headers.Payload, streams[i].Headers.Custom = frame.Zeros, nil
	}
	check(bed.run(e, streams, trial, arrived))
}

// Of a custom frame the payload and the signature are checked, wherever a device moves
// them, and the bytes in front of them are the device's to change.
func TestCustomFrames(t *testing.T) {
	p := frame.Packet{Custom: []byte("\x08\x00some bytes"), Payload: frame.Random, Size: 500}
	whole, corrupted := strays{}, strays{damaged: traffic.Damage{Corrupted: 1}}
	b := newBench(t)
	n := uint64(0)
	var before strays
	for _, test := range []struct {
		name   string
		change func([]byte) []byte
		action uint32
		want   strays
	}{
		{"whole", func(d []byte) []byte { return d }, xdpDrop, whole},
		{"another header", func(d []byte) []byte { d[0], d[14], d[16] = 1, 2, 3; return d }, xdpDrop, whole},
		{"a tag", func(d []byte) []byte { return tagged(d, 7) }, xdpDrop, whole},
		{"another payload", func(d []byte) []byte { d[p.PayloadOffset()]++; return d }, xdpDrop, corrupted},
		{"another end of the payload", func(d []byte) []byte { d[p.SignatureOffset()-1]++; return d }, xdpDrop, corrupted},
		{"another time", func(d []byte) []byte { d[len(d)-3]++; return d }, xdpDrop, corrupted},
		{"less than its payload", func(d []byte) []byte { return d[200:] }, xdpDrop, strays{damaged: traffic.Damage{Truncated: 1}}},
		{"no signature", func(d []byte) []byte { return d[:len(d)-1] }, xdpPass, whole},
		{"another stream", func(d []byte) []byte { binary.BigEndian.PutUint16(d[p.SignatureOffset()+4:], 9); return d }, xdpPass, whole},
	} {
		data := b.packet(p, n)
		received := b.flow().Received
		if got := b.receive(test.change(data)); got != test.action {
			t.Errorf("%s: action %d, want %d", test.name, got, test.action)
		}
		after, err := b.port.receive.strays()
		if err != nil || after.since(before) != test.want {
			t.Errorf("%s: %+v %v, want %+v", test.name, after.since(before), err, test.want)
		}
		before = after
		want := received
		if test.action == xdpDrop && test.want == whole {
			want, n = received+1, n+1
		}
		if got := b.flow().Received; got != want {
			t.Errorf("%s: received %d, want %d", test.name, got, want)
		}
	}
}
