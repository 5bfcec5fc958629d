package xdp

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// listen opens a packet socket on an interface of the device.
func (d *device) listen(name string) (fd int) {
	d.Helper()
	d.in(d.ns, func() {
		link, err := d.nl.LinkByName(name)
		if err != nil {
			d.Fatal(err)
		}
		all := uint16(unix.ETH_P_ALL)
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { unix.Close(fd) })
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
			d.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: link.Attrs().Index}); err != nil {
			d.Fatal(err)
		}
	})
	return fd
}

// until reads frames until one is wanted, and returns that.
func until(fd int, wanted func(gopacket.Packet) bool) ([]byte, error) {
	for {
		b := make([]byte, 10_000)
		n, err := unix.Read(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if wanted(gopacket.NewPacket(b[:n], layers.LayerTypeEthernet, gopacket.Default)) {
			return b[:n], nil
		}
	}
}

func isTestFrame(p gopacket.Packet) bool {
	udp := p.Layer(layers.LayerTypeUDP)
	if udp == nil {
		return false
	}
	_, ok := frame.ParseSignature(udp.LayerPayload())
	return ok
}

// asks says whether a frame asks for an address.
func asks(p gopacket.Packet, addr netip.Addr) bool {
	if arp, ok := p.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		return string(arp.DstProtAddress) == string(addr.AsSlice())
	}
	ns, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
	return ok && string(ns.TargetAddress) == string(addr.AsSlice())
}

// Every range walks on its own, by XDP and through a packet socket alike, and
// every frame is well formed.
func TestRanges(t *testing.T) {
	for name, test := range map[string]struct {
		src, dst string
		size     int
		xdp      bool
	}{
		"IPv4 by XDP":           {"198.18.0.254", "198.18.7.254", 64, true},
		"IPv4 by packet socket": {"198.18.0.254", "198.18.7.254", 64, false},
		"IPv6 by XDP":           {"2001:2::fffe", "2001:2:0:1:ffff::1", 86, true},
		"IPv6 by packet socket": {"2001:2::fffe", "2001:2:0:1:ffff::1", 86, false},
		"IPv6 odd size":         {"2001:2::1", "2001:2::2", 127, true},
		"IPv4 large":            {"198.18.0.1", "198.18.0.2", 1516, true},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := bed.device()
			d.gro("d1", test.xdp)
			fd := d.listen("d1")
			e := bed.open(d.ports(nil, nil)...)
			s := stream(77, e)
			s.FrameSize = test.size
			s.Headers.DstMAC = traffic.MAC(d.d1.Attrs().HardwareAddr)
			s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr(test.src), netip.MustParseAddr(test.dst)
			s.Headers.SrcIPCount, s.Headers.DstIPCount = 3, 260
			s.Headers.SrcPortCount, s.Headers.DstPortCount = 1, 7
			s.Headers.TTL = 9
			other := s
			other.ID, other.FrameSize = 78, test.size+2
			load := traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1e5}, Frames: 600}
			bed.run(e, []traffic.Stream{s, other}, traffic.Trial{Loads: map[uint16]traffic.Load{77: load, 78: load}}, func(traffic.Measurement) bool { return true })
			if got := *e.port("p1").fallback.Load() == ""; got != test.xdp {
				t.Fatalf("sent by XDP: %v, want %v", got, test.xdp)
			}

			last := uint64(0)
			for i := range 1200 {
				n := uint32(i / 2)
				want := frame.Packet{
					SrcMAC: s.Headers.SrcMAC, DstMAC: s.Headers.DstMAC, TTL: 9,
					Src: plus(s.Headers.SrcIP, n%3), Dst: plus(s.Headers.DstIP, n%260),
					SrcPort: 20001, DstPort: 30001 + uint16(n%7), Size: test.size + 2*(i%2),
				}
				got, err := until(fd, isTestFrame)
				if err != nil {
					t.Fatal(err)
				}
				offset := frame.SignatureOffset4
				if want.Src.Is6() {
					offset = frame.SignatureOffset6
				}
				sig, _ := frame.ParseSignature(got[offset:])
				if sig.Stream != uint16(77+i%2) || sig.Sequence != uint64(n) || sig.Epoch != e.epoch || sig.Nanos < last || sig.Nanos > uint64(monotonic()) {
					t.Fatalf("frame %d: signature %+v after time %d", i, sig, last)
				}
				last = sig.Nanos
				b, err := want.Build(sig)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != string(b) {
					t.Fatalf("frame %d: got\n%x, want\n%x", i, got, b)
				}
			}
		})
	}
}

func plus(a netip.Addr, n uint32) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}

func TestConfigureRefuses(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	for name, change := range map[string]func(*traffic.Stream){
		"too large for the MTU": func(s *traffic.Stream) { s.FrameSize = 1519 },
		"too small":             func(s *traffic.Stream) { s.FrameSize = 63 },
		"no destination":        func(s *traffic.Stream) { s.Headers.DstMAC = traffic.MAC{} },
		"two families":          func(s *traffic.Stream) { s.Headers.DstIP = netip.MustParseAddr("2001:2::1") },
		"IPv6 in 64 bytes": func(s *traffic.Stream) {
			s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2::2")
		},
		"ports above 65535": func(s *traffic.Stream) { s.Headers.SrcPort, s.Headers.SrcPortCount = 65000, 537 },
		"addresses above the last": func(s *traffic.Stream) {
			s.Headers.DstIP, s.Headers.DstIPCount = netip.MustParseAddr("255.255.255.255"), 2
		},
		"an empty range": func(s *traffic.Stream) { s.Headers.DstIPCount = 0 },
	} {
		s := stream(1, e)
		change(&s)
		if err := e.Configure(t.Context(), []traffic.Stream{s}); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e), stream(1, e)}); err == nil {
		t.Error("one ID twice: accepted")
	}
	elsewhere := stream(1, e)
	elsewhere.TxPort, elsewhere.RxPorts = "p3", []string{"p4"}
	if err := e.Configure(t.Context(), []traffic.Stream{elsewhere}); err != nil {
		t.Errorf("a stream of other engines' ports is ignored: %v", err)
	}
}
