package xdp

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif/netiftest"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// threaded gives an interface of the device a thread of its own to receive with,
// pinned to a processor.
func (d *device) threaded(name string, processor int) {
	d.Helper()
	d.in(d.ns, func() {
		err := netiftest.Thread(name, processor)
		if errors.Is(err, unix.ENOENT) { // before Linux 6.8
			err = threadByName(name, processor)
		}
		if err != nil {
			d.Fatal(err)
		}
	})
}

// A device that refuses many frames, for working on the sender's processor or for being
// slower than it on another, gets streams without holes: every frame has the number
// and the addresses of its place. Where all receivers know the holes, a stream may have
// one. Every frame has the addresses of its place also then.
func TestRefusedFramesLeaveNoHoles(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	first, last := usable[0], usable[len(usable)-1]
	for name, test := range map[string]struct {
		processor int
		receiver  string
		transmit  Transmit
	}{
		"on the sender's processor": {first, "elsewhere", LiveFrames},
		"on another":                {last, "elsewhere", LiveFrames},
		"on the sender's processor, in longer batches": {first, "p2", LiveFrames},
		"on another, in longer batches":                {last, "p2", LiveFrames},
		"on the sender's processor, AF_XDP":            {first, "p2", AFXDP},
		"on another, AF_XDP":                           {last, "p2", AFXDP},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "on the sender's processor" && name != "on another, AF_XDP" {
				longtest.Skip(t, "another processor or way to send")
			}
			bed := newBed(t)
			d := bed.device()
			d.gro("d1", true)
			if test.transmit == AFXDP {
				d.passes(d.d1) // the veth has a ring for copied frames only with a program
			}
			d.threaded("d1", test.processor)
			fd := d.listen("d1")
			ports := d.ports(nil, nil)
			ports[0].Transmit = test.transmit
			e := bed.open(ports...)
			const frames = 8000
			s, other := stream(1, e), stream(2, e)
			s.Headers.DstMAC = traffic.MAC(d.d1.Attrs().HardwareAddr)
			s.Headers.SrcMACCount = 11
			s.Headers.DstIP, s.Headers.DstIPCount, s.Headers.SrcPortCount = netip.MustParseAddr("198.18.7.1"), 250, 7
			other.Headers.DstMAC = s.Headers.DstMAC
			s.RxPorts, other.RxPorts = []string{test.receiver}, []string{test.receiver}
			streams := []traffic.Stream{s, other}
			load := traffic.Load{Max: true, Frames: frames}
			m := bed.run(e, streams, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, func(traffic.Measurement) bool { return true })
			refused := e.trial.senders[0].lanes[0].tx.Refused
			t.Logf("%d frames were refused, holes %+v", refused, e.holes.At[1:3])
			if own := e.ports.owns(test.receiver); !own && e.holes.At[1] != e.holes.At[2] {
				t.Errorf("the receivers are elsewhere, and there are holes: %+v", e.holes.At[1:3])
			}
			if refused == 0 {
				t.Fatal("no frame was refused: nothing was tested")
			}
			if m.Tx[1].Sent != frames || m.Tx[2].Sent != frames {
				t.Errorf("sent %d and %d, want %d each", m.Tx[1].Sent, m.Tx[2].Sent, frames)
			}
			var next [3]uint64
			for range 2 * frames {
				got, err := until(fd, isTestFrame)
				if err != nil {
					t.Fatal(err)
				}
				sig, _ := signatureIn(gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default))
				hole := e.holes.At[sig.Stream]
				if next[sig.Stream] == hole.From {
					next[sig.Stream] = max(hole.From, hole.To)
				}
				want, err := nthFrame(streams[sig.Stream-1], uint32(place(hole, sig.Sequence))).Build(sig)
				if err != nil {
					t.Fatal(err)
				}
				if sig.Sequence != next[sig.Stream] || string(got) != string(want) {
					t.Fatalf("frame %d of stream %d has number %d: got\n%x, want\n%x", next[sig.Stream], sig.Stream, sig.Sequence, got, want)
				}
				next[sig.Stream]++
			}
		})
	}
}

// place returns which frame of its stream has a number: the frames of the hole come after the
// one behind it.
func place(hole kernel.PortHole, number uint64) uint64 {
	size := hole.To - hole.From
	switch {
	case size == 0 || number <= hole.To:
		return number
	case number <= hole.To+size:
		return number - size - 1
	}
	return number - size
}

// Taking a frame back undoes writing it, wherever the ranges stand.
func TestTakeBack(t *testing.T) {
	bed := newBed(t)
	s := stream(1, bed.backToBack())
	s.Headers.SrcMACCount, s.Headers.SrcIPCount, s.Headers.DstIPCount, s.Headers.SrcPortCount, s.Headers.DstPortCount = 2, 3, 4, 5, 6
	for name, change := range map[string]func(*traffic.Headers){
		"addresses":           func(*traffic.Headers) {},
		"no ranges":           func(h *traffic.Headers) { h.SrcMACCount, h.DstMACCount = 0, 0 },
		"hardware addresses":  func(h *traffic.Headers) { etherOnly(h); h.DstMACCount = 7 },
		"no network layer":    func(h *traffic.Headers) { etherOnly(h); h.SrcMACCount, h.DstMACCount = 0, 1 },
		"one destination MAC": func(h *traffic.Headers) { h.DstMACCount = 0 },
	} {
		changed := s
		change(&changed.Headers)
		stream, err := kernel.NewTxStream(changed, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, stream.Len)
		for range 100 {
			before := stream
			stream.Write(b, 1)
			after := stream
			stream.TakeBack(kernel.PortTxFrame{})
			before.Refused = stream.Refused
			if stream != before {
				t.Fatalf("%s: taken back %+v, want %+v", name, stream, before)
			}
			stream = after
		}
	}
}

// A hole is no loss, no gap and no disorder to the receiver.
func TestHoleIsNoLoss(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if len(usable) < 2 {
		t.Skip("skipped: needs two processors, for a device that takes frames while the engine sends")
	}
	bed := newBed(t)
	d := bed.device()
	d.gro("d1", true)
	d.threaded("d1", usable[len(usable)-1])
	d.inXDP(settings{})
	e := bed.openCapturing(traffic.Capture{Frames: 10, Bytes: 64}, d.ports(nil, nil)...)
	const frames = 20_000
	key := traffic.RxKey{Stream: 1, Port: "p2"}
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: frames}}}
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	holes := 0
	for try := 0; try < 50 && holes < 3; try++ {
		before := d.lost()
		m := bed.again(e, trial, func(m traffic.Measurement) bool { return received(m)+d.lost()-before == frames })
		rx, hole := m.Rx[key], e.holes.At[1]
		if m.Tx[1].Sent != frames || m.Tx[1].Intended != frames || rx.Received != frames-(d.lost()-before) || rx.Reordered+rx.Duplicate+rx.Late != 0 || len(m.Damaged) > 0 {
			t.Fatalf("hole %+v: sent %+v, the device lost %d: %+v, damaged %v", hole, m.Tx[1], d.lost()-before, rx, m.Damaged)
		}
		if hole.To == 0 || d.lost() > before {
			continue
		}
		holes++
		if rx.OutOfSequence != 0 || rx.GapEnd != 0 || rx.Next != frames {
			t.Fatalf("hole %+v: %+v", hole, rx)
		}
		for _, c := range m.Captured {
			if !slices.Equal(c.Kinds, []traffic.CaptureKind{traffic.CaptureFirst}) {
				t.Fatalf("hole %+v: a frame was kept as %v", hole, c.Kinds)
			}
		}
	}
	if holes == 0 {
		t.Skip("skipped: in no trial the device refused frames and took the next one, without losing any")
	}
	t.Logf("%d trials with a hole", holes)
}
