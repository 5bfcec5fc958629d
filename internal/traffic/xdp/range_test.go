package xdp

import (
	"encoding/binary"
	"errors"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
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
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
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
		b, aux := make([]byte, 10_000), make([]byte, 256)
		n, auxLen, _, _, err := unix.Recvmsg(fd, b, aux, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if b, err = retag(b[:n], aux[:auxLen]); err != nil {
			return nil, err
		}
		if wanted(gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)) {
			return b, nil
		}
	}
}

// retag puts back the tag that the kernel keeps outside a frame (struct tpacket_auxdata).
func retag(b, aux []byte) ([]byte, error) {
	messages, err := unix.ParseSocketControlMessage(aux)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < 20 {
			continue
		}
		if status := binary.NativeEndian.Uint32(m.Data); status&unix.TP_STATUS_VLAN_VALID == 0 {
			continue
		}
		tag := binary.BigEndian.AppendUint16(nil, binary.NativeEndian.Uint16(m.Data[18:]))
		tag = binary.BigEndian.AppendUint16(tag, binary.NativeEndian.Uint16(m.Data[16:]))
		b = slices.Insert(b, 12, tag...)
	}
	return b, nil
}

func isTestFrame(p gopacket.Packet) bool {
	_, ok := signatureIn(p)
	return ok
}

// signatureIn finds the signature behind whatever layer it follows.
func signatureIn(p gopacket.Packet) (frame.Signature, bool) {
	for _, l := range p.Layers() {
		if sig, ok := frametest.ParseSignature(l.LayerPayload()); ok {
			return frame.Signature(sig), true
		}
	}
	return frame.Signature{}, false
}

// asks reports whether a frame asks for an address.
func asks(p gopacket.Packet, addr netip.Addr) bool {
	if arp, ok := p.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		return string(arp.DstProtAddress) == string(addr.AsSlice())
	}
	ns, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
	return ok && string(ns.TargetAddress) == string(addr.AsSlice())
}

// labelled are headers with all that can stand before the network layer.
func labelled(h *traffic.Headers) {
	h.VLANs, h.Labels, h.TrafficClass = frame.VLANs{{ID: 4000, Priority: 1}, {ID: 4094, Priority: 5}}, []uint32{1<<20 - 1, 16, 100_000, 17}, 0xb9
}

func etherOnly(h *traffic.Headers) { h.SrcIP, h.DstIP = netip.Addr{}, netip.Addr{} }

// Every range walks on its own, by XDP and through packet and AF_XDP sockets alike, and every
// frame is well formed, also next to one of other headers.
func TestRanges(t *testing.T) {
	t.Setenv(transmitVariable, "")
	type headers = func(*traffic.Headers)
	same := func(*traffic.Headers) {}
	tagged := func(h *traffic.Headers) { h.VLANs = frame.VLANs{{ID: 7}}; h.SrcMACCount, h.DstMACCount = 5, 1 }
	macs := func(h *traffic.Headers) { h.SrcMACCount, h.DstMACCount = 300, 7 }
	ether := func(h *traffic.Headers) { etherOnly(h); macs(h) }
	networks := func(length uint8, stride uint32) headers {
		return func(h *traffic.Headers) { h.DstIPBits, h.DstIPStride = length, stride }
	}
	payload := func(p frame.Payload) headers { return func(h *traffic.Headers) { h.Payload = p } }
	tests := map[string]struct {
		src, dst      string
		size          int
		first, second headers
	}{
		"IPv4":                   {"198.18.0.254", "198.18.7.254", 64, same, same},
		"IPv6":                   {"2001:2::fffe", "2001:2:0:1:ffff::1", 86, same, same},
		"IPv6 odd size":          {"2001:2::1", "2001:2::2", 127, same, same},
		"IPv4 large":             {"198.18.0.1", "198.18.0.2", 1516, same, same},
		"IPv4 tagged":            {"198.18.0.1", "198.18.0.2", 68, tagged, tagged},
		"IPv4 labelled":          {"198.18.0.1", "198.18.0.2", 88, labelled, labelled},
		"IPv6 labelled, beside":  {"2001:2::1", "2001:2::2", 109, labelled, same},
		"IPv6 beside a labelled": {"2001:2::1", "2001:2::2", 106, same, labelled},
		"IPv4 with MACs":         {"198.18.0.1", "198.18.0.2", 64, macs, same},
		"Ethernet":               {"198.18.0.1", "198.18.0.2", 64, ether, etherOnly},
		"Ethernet beside IPv6":   {"2001:2::1", "2001:2::2", 86, ether, same},
		"IPv6 beside Ethernet":   {"2001:2::1", "2001:2::2", 91, tagged, ether},
		"IPv4 networks":          {"198.18.0.1", "198.18.7.1", 64, networks(24, 0), networks(30, 5)},
		"IPv6 networks":          {"2001:2::1", "2001:2:0:ffff::1", 86, networks(64, 3), networks(96, 0)},
		"IPv6 short prefixes":    {"2001:2::1", "2001:2:0:ff00::1", 86, networks(48, 2), networks(127, 1)},
		"IPv6 beyond a half":     {"2001:2::1", "2001:2:0:ff:ffff:ffff::1", 86, networks(80, 300), networks(75, 3)},
		"IPv4 with payloads":     {"198.18.0.1", "198.18.0.2", 301, payload(frame.Random), payload(frame.Zeros)},
	}
	for way, transmit := range map[string]Transmit{"by XDP": LiveFrames, "by packet socket": "", "by AF_XDP": AFXDP} {
		xdp := transmit != ""
		bed := newBed(t)
		d := bed.device()
		d.gro("d1", xdp)
		fd := d.listen("d1")
		ports := d.ports(nil, nil)
		ports[0].Transmit = transmit
		e := bed.open(ports...)
		for name, test := range tests {
			t.Run(name+" "+way, func(t *testing.T) {
				if testing.Short() && transmit == AFXDP && !strings.HasPrefix(name, "IPv6 labelled") {
					t.Skip("a packet socket sends frames that are made the same way: make test-long")
				}
				bed := bed.part(t)
				s := stream(77, e)
				s.FrameSize = test.size
				s.Headers.DstMAC = traffic.MAC(d.d1.Attrs().HardwareAddr)
				s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr(test.src), netip.MustParseAddr(test.dst)
				s.Headers.SrcIPCount, s.Headers.DstIPCount = 3, 260
				s.Headers.SrcPortCount, s.Headers.DstPortCount = 1, 7
				s.Headers.TTL = 9
				other := s
				test.first(&s.Headers)
				test.second(&other.Headers)
				other.ID, other.FrameSize = 78, test.size+2
				load := traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1e5}, Frames: 600}
				bed.run(e, []traffic.Stream{s, other}, traffic.Trial{Loads: map[uint16]traffic.Load{77: load, 78: load}}, func(traffic.Measurement) bool { return true })
				if got := *e.ports.named("p1").send.fallback.Load() == ""; got != xdp {
					t.Fatalf("sent by XDP: %v, want %v", got, xdp)
				}
				// Each stream comes in order. The kernel gives a packet socket frames that
				// no protocol takes a little later than others.
				var next, last [2]uint64
				for i := range 1200 {
					got, err := until(fd, isTestFrame)
					if err != nil {
						t.Fatal(err)
					}
					sig, _ := signatureIn(gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default))
					k := sig.Stream - 77
					if k > 1 || sig.Sequence != next[k] || sig.Epoch != e.epoch || sig.Nanos < last[k] || sig.Nanos > uint64(monotonic()) {
						t.Fatalf("frame %d: signature %+v after the numbers %v at the times %v in\n%x", i, sig, next, last, got)
					}
					next[k], last[k] = next[k]+1, sig.Nanos
					b, err := nthFrame([]traffic.Stream{s, other}[k], uint32(sig.Sequence)).Build(sig)
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
}

// nthFrame is frame n of a stream, worked out from its headers alone.
func nthFrame(s traffic.Stream, n uint32) frame.Packet {
	h := s.Headers
	p := frame.Packet{
		SrcMAC: h.SrcMAC.Nth(n % max(1, h.SrcMACCount)), DstMAC: h.DstMAC.Nth(n % max(1, h.DstMACCount)),
		VLANs: h.VLANs, Labels: h.Labels, TrafficClass: h.TrafficClass, TTL: h.TTL, Payload: h.Payload, Size: s.FrameSize,
	}
	if h.SrcIP.IsValid() {
		p.Src, p.Dst = plus(h.SrcIP, n%h.SrcIPCount), nthNetwork(h, n%h.DstIPCount)
		p.SrcPort, p.DstPort = h.SrcPort+uint16(n%h.SrcPortCount), h.DstPort+uint16(n%h.DstPortCount)
	}
	return p
}

func plus(a netip.Addr, n uint32) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}

// nthNetwork is destination n of a stream.
func nthNetwork(h traffic.Headers, n uint32) netip.Addr {
	length := h.DstIP.BitLen()
	if h.DstIPBits > 0 {
		length = int(h.DstIPBits)
	}
	step := new(big.Int).Lsh(big.NewInt(int64(max(1, h.DstIPStride))*int64(n)), uint(h.DstIP.BitLen()-length))
	sum := step.Add(step, new(big.Int).SetBytes(h.DstIP.AsSlice()))
	a, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, h.DstIP.BitLen()/8)))
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
		"networks above the last": func(s *traffic.Stream) {
			s.Headers.DstIP, s.Headers.DstIPCount, s.Headers.DstIPBits = netip.MustParseAddr("255.255.0.1"), 257, 24
		},
		"a stride above the last": func(s *traffic.Stream) {
			s.Headers.DstIPCount, s.Headers.DstIPBits, s.Headers.DstIPStride = 2, 8, 256
		},
		"longer than addresses":    func(s *traffic.Stream) { s.Headers.DstIPCount, s.Headers.DstIPBits = 2, 64 },
		"a tag above the last":     func(s *traffic.Stream) { s.Headers.VLANs = frame.VLANs{{ID: 4095}} },
		"a label above the last":   func(s *traffic.Stream) { s.FrameSize, s.Headers.Labels = 128, []uint32{1 << 20} },
		"five labels":              func(s *traffic.Stream) { s.FrameSize, s.Headers.Labels = 128, make([]uint32, 5) },
		"a tag in 64 bytes":        func(s *traffic.Stream) { s.Headers.VLANs = frame.VLANs{{ID: 1}} },
		"more MACs than there are": func(s *traffic.Stream) { s.Headers.SrcMACCount = 1<<24 + 1 },
		"one address only":         func(s *traffic.Stream) { s.Headers.SrcIP = netip.Addr{} },
		"an empty range":           func(s *traffic.Stream) { s.Headers.DstIPCount = 0 },
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
