package xdp

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/netif/netiftest"
	"nodrop.dev/nodrop/internal/processors"
	"nodrop.dev/nodrop/internal/traffic"
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
// and the addresses of its place.
func TestRefusedFramesLeaveNoHoles(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	type device struct {
		processor int
		transmit  Transmit
	}
	for name, slow := range map[string]device{
		"on the sender's processor":         {processor: usable[0]},
		"on another":                        {processor: usable[len(usable)-1]},
		"on the sender's processor, AF_XDP": {usable[0], AFXDP},
		"on another, AF_XDP":                {usable[len(usable)-1], AFXDP},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := bed.device()
			d.gro("d1", true)
			if slow.transmit == AFXDP {
				d.passes(d.d1) // the veth has a ring for copied frames only with a program
			}
			d.threaded("d1", slow.processor)
			fd := d.listen("d1")
			ports := d.ports(nil, nil)
			ports[0].Transmit = slow.transmit
			e := bed.open(ports...)
			const frames = 8000
			s, other := stream(1, e), stream(2, e)
			s.Headers.DstMAC = traffic.MAC(d.d1.Attrs().HardwareAddr)
			s.Headers.SrcMACCount = 11
			s.Headers.DstIP, s.Headers.DstIPCount, s.Headers.SrcPortCount = netip.MustParseAddr("198.18.7.1"), 250, 7
			other.Headers.DstMAC = s.Headers.DstMAC
			streams := []traffic.Stream{s, other}
			load := traffic.Load{Max: true, Frames: frames}
			m := bed.run(e, streams, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, func(traffic.Measurement) bool { return true })
			refused := e.trial.senders[0].lanes[0].tx.Refused
			t.Logf("%d frames were refused", refused)
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
				want, err := nthFrame(streams[sig.Stream-1], uint32(sig.Sequence)).Build(sig)
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
		stream, err := newTxStream(changed, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, stream.Len)
		for range 100 {
			before := stream
			stream.write(b, 1)
			after := stream
			stream.takeBack()
			before.Refused = stream.Refused
			if stream != before {
				t.Fatalf("%s: taken back %+v, want %+v", name, stream, before)
			}
			stream = after
		}
	}
}
