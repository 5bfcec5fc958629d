package xdp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// packet of a stream of the bench, and its frame number n.
func (b *bench) packet(p frame.Packet, n uint64) []byte {
	b.Helper()
	data, err := p.Build(frame.Signature{Epoch: 1000, Stream: 1, Sequence: n, Nanos: uint64(monotonic())})
	if err != nil {
		b.Fatal(err)
	}
	b.port.receive.attached.programs.Expected[0].Payload.Length = uint16(len(data) - p.NetworkOffset())
	if p.Filling() != frame.Zeros || p.Custom != nil {
		b.expectPayload(p)
	}
	return data
}

func packetOf(src, dst string, size int) frame.Packet {
	p := frame.Packet{SrcPort: 20001, DstPort: 30001, Size: size}
	if src != "" {
		p.Src, p.Dst = netip.MustParseAddr(src), netip.MustParseAddr(dst)
	}
	return p
}

// expectPayload expects the payload of a frame that is no zeros.
func (b *bench) expectPayload(p frame.Packet) {
	b.Helper()
	if err := b.port.receive.attached.programs.Use(kernel.Bodies{{}, {Custom: string(p.Custom), Payload: p.Payload}}); err != nil {
		b.Fatal(err)
	}
	expected := &b.port.receive.attached.programs.Expected[0].Payload
	expected.Body, expected.Custom = 1, uint16(len(p.Custom))
	if p.Custom != nil {
		expected.Length = uint16(p.SignatureOffset() - p.PayloadOffset())
	}
	if p.Balanced() {
		expected.Balanced, expected.Balance = 1, bits.ReverseBytes16(p.Balance())
	}
}

// withPayload is a packet with another payload.
func withPayload(payload frame.Payload, p frame.Packet) frame.Packet {
	p.Payload = payload
	return p
}

// A change of any byte behind the Ethernet header makes a frame corrupted, wherever
// the byte stands; over IPv6 those that no checksum covers are a router's to change.
func TestEveryCorruptByteIsFound(t *testing.T) {
	whole := newBench(t)
	for name, p := range map[string]frame.Packet{
		"IPv4 64":     packetOf("198.18.0.1", "198.18.0.2", 64),
		"IPv4 129":    packetOf("198.18.0.1", "198.18.0.2", 129),
		"IPv4 1518":   packetOf("198.18.0.1", "198.18.0.2", 1518),
		"IPv6 86":     packetOf("2001:2::1", "2001:2::2", 86),
		"IPv6 200":    packetOf("2001:2::1", "2001:2::2", 200),
		"Ethernet 64": packetOf("", "", 64),
		"Ethernet 77": packetOf("", "", 77),

		"IPv4 74 of ones":          withPayload(frame.Ones, packetOf("198.18.0.1", "198.18.0.2", 74)),
		"IPv4 400 of random bytes": withPayload(frame.Random, packetOf("198.18.0.1", "198.18.0.2", 400)),
		"IPv6 201 that alternates": withPayload(frame.Alternating, packetOf("2001:2::1", "2001:2::2", 201)),
		"Ethernet 199 that counts": withPayload(frame.Incrementing, packetOf("", "", 199)),
	} {
		t.Run(name, func(t *testing.T) {
			b := whole.in(t)
			before := b.since(strays{})
			data := b.packet(p, 0)
			first := 12 // the EtherType
			if p.Src.Is6() {
				first = 14 + 4 // the length
			}
			want := uint64(0)
			for at := first; at < len(data); at++ {
				if p.Src.Is6() && at == 14+7 {
					continue // the hop limit
				}
				for _, flip := range []byte{1, 0x80, 0xff} {
					data[at] ^= flip
					b.receive(data)
					data[at] ^= flip
					want++
					if got := b.since(before); got != (strays{damaged: traffic.Damage{Corrupted: want}}) || b.flow().Received > 0 {
						t.Fatalf("byte %d, %#x: %+v, want %d corrupted", at, flip, got, want)
					}
				}
			}
			if b.receive(data); b.flow().Received != 1 {
				t.Error("the frame itself was not received")
			}
		})
	}
}

// So it does in the buffers behind the first, in which large frames come.
func TestCorruptBytesOfLargeFrames(t *testing.T) {
	for _, payload := range []frame.Payload{frame.Zeros, frame.Random} {
		t.Run("payload "+string(payload), func(t *testing.T) { corruptLarge(t, payload) })
	}
}

func corruptLarge(t *testing.T, payload frame.Payload) {
	b := newBench(t)
	data := b.packet(withPayload(payload, packetOf("198.18.0.1", "198.18.0.2", 9018)), 0)
	want := traffic.Damage{}
	check := func(what string, data []byte) {
		t.Helper()
		b.receive(data)
		if got, err := b.port.receive.strays(); err != nil || got.damaged != want || b.flow().Received > 0 {
			t.Fatalf("%s: %+v %v, received %d: want %+v", what, got, err, b.flow().Received, want)
		}
	}
	for _, at := range []int{60, 1000, 2999, 3000, 3001, 4095, 7000, len(data) - 1} {
		data[at] ^= 0x10
		want.Corrupted++
		check(fmt.Sprintf("byte %d", at), data)
		data[at] ^= 0x10
	}
	want.Truncated++
	check("without its end", data[:len(data)-1])
	want.Corrupted++
	check("longer", append(slices.Clone(data), 0))
	if b.receive(data); b.flow().Received != 1 {
		t.Error("the frame itself was not received")
	}
}

// What is wrong with a frame is counted by kind, and the frame is not received.
func TestDamageByKind(t *testing.T) {
	fragment6 := func(data []byte) []byte {
		// A fragment header (RFC 8200 section 4.5) between IPv6 and UDP.
		out := append([]byte{}, data[:54]...)
		out[20] = 44
		out = append(out, 17, 0, 0, 1, 0, 0, 0, 7)
		return append(out, data[54:]...)
	}
	fix4 := func(data []byte) []byte {
		clear(data[24:26])
		binary.BigEndian.PutUint16(data[24:], frame.Checksum(frame.Sum(data[14:34])))
		return data
	}
	v4, v6, ether := packetOf("198.18.0.1", "198.18.0.2", 512), packetOf("2001:2::1", "2001:2::2", 512), packetOf("", "", 512)
	small := packetOf("198.18.0.1", "198.18.0.2", 64)
	truncated, corrupted, fragmented := traffic.Damage{Truncated: 1}, traffic.Damage{Corrupted: 1}, traffic.Damage{Fragmented: 1}
	whole := newBench(t)
	for name, test := range map[string]struct {
		packet frame.Packet
		change func([]byte) []byte
		want   traffic.Damage
	}{
		"whole":                        {v4, func(d []byte) []byte { return d }, traffic.Damage{}},
		"IPv4 without its end":         {v4, func(d []byte) []byte { return d[:len(d)-1] }, truncated},
		"IPv4 in half":                 {v4, func(d []byte) []byte { return d[:len(d)/2] }, truncated},
		"IPv4 in the signature":        {small, func(d []byte) []byte { return d[:59] }, truncated},
		"IPv6 in half":                 {v6, func(d []byte) []byte { return d[:len(d)/2] }, truncated},
		"Ethernet in half":             {ether, func(d []byte) []byte { return d[:len(d)/2] }, truncated},
		"longer":                       {v4, func(d []byte) []byte { return append(d, 0) }, corrupted},
		"cut, and its header as well":  {v4, func(d []byte) []byte { d[16], d[17] = 0, 200; return fix4(d[:214]) }, truncated},
		"shorter in its header":        {v4, func(d []byte) []byte { d[17]--; return fix4(d) }, corrupted},
		"the first fragment of IPv4":   {v4, func(d []byte) []byte { d[20], d[16], d[17] = 0x20, 0, 228; return fix4(d[:242]) }, fragmented},
		"the first fragment of IPv6":   {v6, fragment6, fragmented},
		"without its UDP checksum":     {v4, func(d []byte) []byte { d[40], d[41] = 0, 0; return d }, corrupted},
		"the time to live of a router": {v4, func(d []byte) []byte { d[22]--; return fix4(d) }, traffic.Damage{}},
		"another code point":           {v4, func(d []byte) []byte { d[15] = 0xb8; return fix4(d) }, traffic.Damage{}},
		"a hop limit and a class":      {v6, func(d []byte) []byte { d[21]--; d[14], d[15] = 0x6b, 0x80; return d }, traffic.Damage{}},
		"other hardware addresses":     {v4, func(d []byte) []byte { copy(d, "abcdefghijkl"); return d }, traffic.Damage{}},
		"NAT":                          {v4, func(d []byte) []byte { nat(d, 34, 4711); nat(d, 28, 0x0a0b); return fix4(d) }, traffic.Damage{}},
		"a tag":                        {v4, func(d []byte) []byte { return tagged(d, 7) }, traffic.Damage{}},
		"padding":                      {small, func(d []byte) []byte { return append(d, 1, 2, 3, 4) }, traffic.Damage{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := whole.in(t)
			before := b.since(strays{})
			data := test.change(b.packet(test.packet, 0x010203))
			if got := b.receive(data); got != xdpDrop {
				t.Errorf("action %d", got)
			}
			want := uint64(1)
			if test.want != (traffic.Damage{}) {
				want = 0
			}
			if got := b.since(before); got != (strays{damaged: test.want}) || b.flow().Received != want {
				t.Errorf("%+v, received %d, want %+v", got, b.flow().Received, test.want)
			}
		})
	}
}

// nat changes a word of a frame over IPv4, and the UDP checksum with it (RFC 1624).
func nat(data []byte, at int, to uint16) {
	sum := uint64(^binary.BigEndian.Uint16(data[40:])) + uint64(^binary.BigEndian.Uint16(data[at:])) + uint64(to)
	binary.BigEndian.PutUint16(data[40:], frame.Checksum(sum))
	binary.BigEndian.PutUint16(data[at:], to)
}

// tagged puts a tag into a frame.
func tagged(data []byte, vlan byte) []byte {
	out := append([]byte{}, data[:12]...)
	return append(append(out, 0x81, 0, 0, vlan), data[12:]...)
}

// A number that the trial does not have makes no later frame late.
func TestNumbersEndAtWhatWasIntended(t *testing.T) {
	b := newBench(t)
	b.begin(1000, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 100}}})
	b.sequence(0, 1, 1<<40, 2, 3, 100, 99)
	f := b.flow()
	got, err := b.port.receive.strays()
	if err != nil || f.Received != 5 || f.Late != 0 || f.Next != 100 || got.damaged.Corrupted != 2 {
		t.Errorf("received %d, late %d, up to %d, %+v %v: want 5, none, 100 and 2 corrupted", f.Received, f.Late, f.Next, got, err)
	}
}

// The window holds what a stream sends in a quarter of a second, at any rate.
func TestWindowGrowsWithTheRate(t *testing.T) {
	b := newBench(t)
	for name, test := range map[string]struct {
		rate  traffic.Rate
		least uint64
	}{
		"1 frame/s":               {traffic.Rate{Frames: 1, PerNanos: 1e9}, leastWindow},
		"10G of 64 bytes":         {traffic.Rate{Frames: 14_880_952, PerNanos: 1e9}, 3_720_238},
		"100G of 64 bytes":        {traffic.Rate{Frames: 148_809_524, PerNanos: 1e9}, 37_202_381},
		"a third of a frame a ns": {traffic.Rate{Frames: 1, PerNanos: 3}, 83_333_333},
	} {
		t.Run(name, func(t *testing.T) {
			b.begin(1000, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: test.rate, Frames: 1 << 40}}})
			b.sequence(test.least-1, 0, 0, 1)
			if f := b.flow(); f.Received != 3 || f.Duplicate != 1 || f.Reordered != 2 || f.Late != 0 {
				t.Errorf("received %d, duplicate %d, reordered %d, late %d: want 3, 1, 2, 0", f.Received, f.Duplicate, f.Reordered, f.Late)
			}
			b.sequence(4*test.least, 2)
			if f := b.flow(); f.Late != 1 {
				t.Errorf("late %d, want the one out of the window", f.Late)
			}
		})
	}
}

// Frames that arrive after their trial was read are stale in the next one, also those
// that come before that begins.
func TestStragglersAreStale(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 1e5}, Frames: 100}}}
	if m := bed.run(e, []traffic.Stream{stream(1, e)}, trial, arrived); !arrived(m) || len(m.Stale) > 0 {
		t.Fatalf("sent %d, received %d, stale %v", sent(m), received(m), m.Stale)
	}
	b := &bench{T: t, port: e.ports.named("p2")}
	straggler := frame.Signature{Epoch: e.epoch, Stream: 1, Sequence: 5}
	// The trial was exact in its frames, so that one of them comes anew only if it is
	// forgotten.
	clear(b.port.receive.attached.programs.Window)
	b.receive(b.frame(straggler))
	if err := e.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	b.receive(b.frame(straggler))
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := bed.settle(e, arrived); m.Stale["p2"] != 2 || !arrived(m) {
		t.Errorf("stale %v, received %d: want 2 and 100", m.Stale, received(m))
	}
}

// A frame that is late is noted with the time, and speaks against no validity.
func TestLateFramesAreNoted(t *testing.T) {
	b := newBench(t)
	b.sequence(1<<20, 0, 1, 2)
	m := traffic.Measurement{Rx: map[traffic.RxKey]traffic.RxCount{}}
	if err := b.port.receive.read(&m); err != nil {
		t.Fatal(err)
	}
	if got := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]; got.Late != 3 || got.Received != 1 {
		t.Errorf("%+v, want 3 late", got)
	}
	if len(m.Notes) != 1 || m.Notes[0].Kind != traffic.NoteLate || !strings.Contains(m.Notes[0].Text, fmt.Sprint("3 frames came back on p2 more than ", reorderTime)) {
		t.Errorf("notes %v", m.Notes)
	}
}
