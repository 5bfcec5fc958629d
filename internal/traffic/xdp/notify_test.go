package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// answers lets receivers answer the marked frames of a stream of RoCEv2.
func answers(s *traffic.Stream, interval time.Duration) {
	roce(s)
	s.Headers.RoCE.CNP = frame.CNP{Answers: true, Interval: interval, TrafficClass: 48<<2 | traffic.ECT0, QueuePair: 0xabcdef}
	s.Headers.TrafficClass = 26<<2 | traffic.ECT0
}

// checkCNP checks a congestion notification packet by an independent decoder, and its ICRC by the
// function that the captures of network cards prove. A change of its bytes would change one of both.
func checkCNP(t *testing.T, b []byte, src, dst netip.Addr) {
	t.Helper()
	decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	udp, ok := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok {
		t.Fatalf("no UDP in %x", b)
	}
	if err := udp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	if err, wrong := decoded.VerifyChecksums(); err != nil || len(wrong) > 0 || udp.Checksum == 0 {
		t.Errorf("checksums: %v %v", err, wrong)
	}
	flow := decoded.NetworkLayer().NetworkFlow()
	if from, to := flow.Endpoints(); !bytes.Equal(from.Raw(), src.AsSlice()) || !bytes.Equal(to.Raw(), dst.AsSlice()) {
		t.Errorf("from %v to %v, want %v and %v", from, to, src, dst)
	}
	if v4, is := decoded.NetworkLayer().(*layers.IPv4); is && (v4.TOS != 48<<2|traffic.ECT0 || v4.TTL != 64 || v4.Flags != layers.IPv4DontFragment) {
		t.Errorf("type of service %#x, time to live %d, flags %v", v4.TOS, v4.TTL, v4.Flags)
	}
	if v6, is := decoded.NetworkLayer().(*layers.IPv6); is && (v6.TrafficClass != 48<<2|traffic.ECT0 || v6.HopLimit != 64 || v6.FlowLabel != 0) {
		t.Errorf("traffic class %#x, hop limit %d, flow label %#x", v6.TrafficClass, v6.HopLimit, v6.FlowLabel)
	}
	want := "8100ffff40abcdef00000000" + strings.Repeat("00", 16)
	if got := fmt.Sprintf("%x", udp.Payload[:len(udp.Payload)-4]); udp.DstPort != 4791 || len(udp.Payload) != 32 || got != want {
		t.Errorf("to port %d, %s, want %s", udp.DstPort, got, want)
	}
	ip := append(bytes.Clone(decoded.NetworkLayer().LayerContents()), decoded.NetworkLayer().LayerPayload()...)
	if got, want := binary.LittleEndian.Uint32(ip[len(ip)-4:]), frame.ICRC(ip); got != want {
		t.Errorf("ICRC %08x, want %08x", got, want)
	}
}

// number begins a trial with a number.
func (b *bench) number(epoch uint16, number uint64) {
	b.Helper()
	if err := b.port.receive.clear(epoch, number); err != nil {
		b.Fatal(err)
	}
}

// A marked frame is answered by a congestion notification packet to where it came from: over both
// families, with tags, of any length. An answer is counted at the port that it comes to.
func TestAnswersMarks(t *testing.T) {
	b := newBench(t)
	for name, p := range map[string]frame.Packet{
		"IPv4":                 {Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), Size: 86},
		"IPv4, a long payload": {Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.19.255.2"), Size: 1518, Payload: frame.Random},
		"IPv4, two tags":       {Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), Size: 94, VLANs: frame.VLANs{{ID: 7}, {ID: 8}}},
		"IPv6":                 {Src: netip.MustParseAddr("2001:2::1"), Dst: netip.MustParseAddr("2001:2:0:ffff::2"), Size: 106},
		"IPv6, a tag":          {Src: netip.MustParseAddr("2001:2::1"), Dst: netip.MustParseAddr("2001:2::2"), Size: 1518 - 4, VLANs: frame.VLANs{{ID: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			s := &b.port.receive.streams[0]
			answers(s, 0)
			b.number(1000, 1)
			p.SrcMAC, p.DstMAC = traffic.MAC{2, 0, 0, 0, 0, 1}, traffic.MAC{2, 0, 0, 0, 0, 2}
			p.DstPort, p.SrcPort, p.RoCE, p.TrafficClass = frame.RoCEPort, 50000, s.Headers.RoCE, 26<<2|traffic.ECT0
			b.packet(p, 0) // whose payload the stream has
			for n := range uint64(40) {
				p.TrafficClass = 26<<2 | uint8(n)&3
				data := b.packet(p, n)
				out := make([]byte, len(data)+100)
				run := ebpf.RunOptions{Data: data, DataOut: out, Context: xdpContext{DataEnd: uint32(len(data)), Ingress: uint32(b.port.index)}}
				action, err := b.port.receive.attached.programs.Port.Run(&run)
				if err != nil {
					t.Fatal(err)
				}
				if n&3 != 3 {
					if action != xdpDrop {
						t.Errorf("frame %d with the bits %d: action %d, want that it is dropped", n, n&3, action)
					}
					continue
				}
				const xdpRedirect = 4
				if action != xdpRedirect {
					t.Fatalf("frame %d: action %d, want that it is sent back", n, action)
				}
				answer := run.DataOut
				if want := fmt.Sprintf("%x%x", p.SrcMAC, p.DstMAC); fmt.Sprintf("%x", answer[:12]) != want {
					t.Errorf("hardware addresses %x, want %s", answer[:12], want)
				}
				checkCNP(t, answer, p.Dst, p.Src)
				before, err := b.port.receive.strays()
				if err != nil {
					t.Fatal(err)
				}
				if action := b.receive(answer); action != xdpDrop || b.since(before) != (strays{notifications: 1}) {
					t.Errorf("the answer comes in: action %d, %+v", action, b.since(before))
				}
			}
			if got := b.port.receive.notified(0); got != 10 || b.flow().Received != 40 || b.flow().Congested != 10 {
				t.Errorf("%d answers to %d marks of %d frames, want 10, 10, 40", got, b.flow().Congested, b.flow().Received)
			}
		})
	}
}

// Frames are not answered within the interval, nor where they are duplicates, of an earlier trial,
// or of a stream that asks for no answers.
func TestAnswersNoOtherMarks(t *testing.T) {
	b := newBench(t)
	p := frame.Packet{
		Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), DstPort: frame.RoCEPort, RoCE: frame.RoCE{Opcode: 4}, Size: 130,
		TrafficClass: 3,
	}
	use := func(epoch uint16, interval time.Duration, asks bool) {
		s := &b.port.receive.streams[0]
		answers(s, interval)
		s.Headers.RoCE.CNP.Answers = asks
		b.number(epoch, 1)
	}
	use(1000, time.Hour, true)
	for n := range uint64(100) {
		b.receive(b.packet(p, n))
	}
	if got := b.port.receive.notified(0); got != 1 {
		t.Errorf("%d answers within an hour, want 1", got)
	}
	use(1000, 0, true)
	for range 10 {
		b.receive(b.packet(p, 100)) // nine of them are duplicates
	}
	if got := b.port.receive.notified(0); got != 1 {
		t.Errorf("%d answers to a frame and its duplicates, want 1", got)
	}
	stale := b.packet(p, 101)
	use(1001, 0, true)
	b.receive(stale)
	if got := b.port.receive.notified(0); got != 0 {
		t.Errorf("%d answers to stale frames, want none", got)
	}
	use(1000, 0, false)
	b.receive(b.packet(p, 102))
	if got := b.port.receive.notified(0); got != 0 || b.flow().Congested != 1 {
		t.Errorf("%d answers where none are asked for, %d marks", got, b.flow().Congested)
	}
}

// Frames to groups and to all are not answered: no queue pair sent to one receiver.
func TestAnswersNoGroups(t *testing.T) {
	b := newBench(t)
	answers(&b.port.receive.streams[0], 0)
	b.number(1000, 1)
	for n, mac := range []traffic.MAC{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1, 0, 0x5e, 0, 0, 1}} {
		b.receive(b.packet(frame.Packet{
			DstMAC: mac, Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.255"),
			DstPort: frame.RoCEPort, RoCE: frame.RoCE{Opcode: 4}, Size: 130, TrafficClass: 3,
		}, uint64(n)))
	}
	if f := b.flow(); f.Congested != 2 || b.port.receive.notified(0) != 0 {
		t.Errorf("%d marks, %d answers, want 2 and none", f.Congested, b.port.receive.notified(0))
	}
}

// markingRouter is a router that marks some frames of RoCEv2 with CE, and counts the congestion notification
// packets that it forwards back. It drops one of ten if drops is set.
func markingRouter(bed *bed, drops bool) *device {
	d := bed.device()
	d.router(prefixes("198.18.1.1/24", "2001:2:0:1::1/64"), prefixes("198.18.2.1/24", "2001:2:0:2::1/64"))
	rule := ""
	if drops {
		rule = "numgen inc mod 10 0 counter name dropped drop"
	}
	d.nft(fmt.Sprintf(`table inet marks {
 counter marked {}
 counter answered {}
 counter dropped {}
 chain forward { type filter hook forward priority 0;
  iifname d1 ip ecn != not-ect numgen inc mod 5 < 2 ip ecn set ce counter name marked
  iifname d1 ip6 ecn != not-ect numgen inc mod 5 < 2 ip6 ecn set ce counter name marked
  iifname d2 udp dport 4791 @th,64,8 0x81 counter name answered
  iifname d2 udp dport 4791 @th,64,8 0x81 %s
 }
}
`, rule))
	return d
}

// through returns streams of RoCEv2 over a router, of both families, whose marks are answered.
func (d *device) through(e *Engine, interval time.Duration) []traffic.Stream {
	d.Helper()
	var streams []traffic.Stream
	for i, a := range [][4]string{{"198.18.1.1", "198.18.2.1", "198.18.1.2", "198.18.2.2"}, {"2001:2:0:1::1", "2001:2:0:2::1", "2001:2:0:1::2", "2001:2:0:2::2"}} {
		mac, err := e.Resolve(d.Context(), "p1", netip.MustParseAddr(a[0]))
		if err != nil {
			d.Fatal(err)
		}
		if _, err := e.Resolve(d.Context(), "p2", netip.MustParseAddr(a[1])); err != nil {
			d.Fatal(err)
		}
		s := stream(uint16(i+1), e)
		answers(&s, interval)
		s.FrameSize = 1014 + 4*i
		h := &s.Headers
		h.SrcMAC, h.DstMAC, h.SrcIP, h.DstIP = e.ports.named("p1").mac, mac, netip.MustParseAddr(a[2]), netip.MustParseAddr(a[3])
		h.SrcPortCount = 16
		streams = append(streams, s)
	}
	return streams
}

// Receivers answer the marks of a router, and the router forwards the answers to the senders: as many
// as it marked without an interval, and fewer with one. What it drops of them is sent and not received.
func TestAnswersMarksOfARouter(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		drops    bool
	}{
		"every mark": {0, false},
		"in 20 ms":   {20 * time.Millisecond, false},
		"drops":      {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := markingRouter(bed, tc.drops)
			e := bed.open(d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), prefixes("198.18.2.2/24", "2001:2:0:2::2/64"))...)
			d.gro("d2", true)
			streams := d.through(e, tc.interval)
			const frames = 400
			learning, trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}, traffic.Trial{Loads: map[uint16]traffic.Load{}}
			for _, s := range streams {
				learning.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 10}
				trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}
			}
			bed.run(e, streams, learning, arrived)
			before := d.nftCounters("inet", "marks")
			fd := -1
			if os.Getenv("NODROP_CAPTURE") != "" {
				fd = d.listen("d2")
			}
			var sent uint64
			m := bed.again(e, trial, func(m traffic.Measurement) bool {
				sent = answeredAt(&m, "p2")
				return arrived(m) && m.Notifications["p1"]+d.nftCounters("inet", "marks")["dropped"]-before["dropped"] == sent
			})
			now := d.nftCounters("inet", "marks")
			marked, answered, dropped := now["marked"]-before["marked"], now["answered"]-before["answered"], now["dropped"]-before["dropped"]
			var congested uint64
			for _, s := range streams {
				rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: "p2"}]
				if rx.Received != frames || rx.Congested == 0 || rx.Notified == 0 {
					t.Errorf("stream %d: %+v", s.ID, rx)
				}
				congested += rx.Congested
				if most := rx.Congested; tc.interval == 0 && rx.Notified != most {
					t.Errorf("stream %d: %d answers to %d marks", s.ID, rx.Notified, most)
				}
			}
			t.Logf("marked %d, congested %d, answered %d, forwarded %d, dropped %d, received %d", marked, congested, sent, answered, dropped, m.Notifications["p1"])
			if congested != marked || sent != answered || m.Notifications["p1"] != answered-dropped || len(m.Notifications) != 1 || (dropped > 0) != tc.drops {
				t.Errorf("%d marks of %d, %d answers of which the router saw %d and dropped %d, received %v", congested, marked, sent, answered, dropped, m.Notifications)
			}
			if tc.interval > 0 {
				took := m.TxTime + tc.interval
				if most := uint64(len(streams)) * uint64(took/tc.interval+1); sent > most || sent >= congested {
					t.Errorf("%d answers to %d marks in %v, want at most %d", sent, congested, m.TxTime, most)
				}
			}
			if len(m.Damaged)+len(m.Stale)+len(m.Misdelivered) > 0 {
				t.Errorf("damaged %v, stale %v, misdelivered %v", m.Damaged, m.Stale, m.Misdelivered)
			}
			if fd >= 0 {
				d.keep(fd, filepath.Clean(os.Getenv("NODROP_CAPTURE")+"."+strings.ReplaceAll(name, " ", "-")))
			}
		})
	}
}

// Ports that send and receive at the same time answer marks, while their own frames leave: every frame
// arrives, every mark has its answer, and no sender takes an answer for a frame of its own.
func TestAnswersWhileSending(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24"), prefixes("198.18.2.1/24"))
	d.nft(`table inet marks {
 counter marked {}
 counter answered {}
 chain forward { type filter hook forward priority 0;
  ip dscp 26 numgen inc mod 3 < 1 ip ecn set ce counter name marked
  udp dport 4791 @th,64,8 0x81 counter name answered
 }
}
`)
	e := bed.open(d.ports(prefixes("198.18.1.2/24"), prefixes("198.18.2.2/24"))...)
	for _, link := range []string{"d1", "d2"} {
		d.gro(link, true)
	}
	const frames = 5000
	var streams []traffic.Stream
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for i, port := range []string{"p1", "p2"} {
		s := stream(uint16(i+1), e)
		answers(&s, 0)
		s.FrameSize, s.TxPort, s.RxPorts = 130, port, []string{[]string{"p2", "p1"}[i]}
		mac, err := e.Resolve(t.Context(), port, netip.MustParseAddr(fmt.Sprintf("198.18.%d.1", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		h := &s.Headers
		h.SrcMAC, h.DstMAC = e.ports.named(port).mac, mac
		h.SrcIP, h.DstIP = netip.MustParseAddr(fmt.Sprintf("198.18.%d.2", i+1)), netip.MustParseAddr(fmt.Sprintf("198.18.%d.2", 2-i))
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 5000, PerNanos: 1e9}, Frames: frames}
	}
	before := d.nftCounters("inet", "marks")
	m := bed.run(e, streams, trial, func(m traffic.Measurement) bool {
		return arrived(m) && m.Notifications["p1"]+m.Notifications["p2"] == answeredAt(&m, "p1")+answeredAt(&m, "p2")
	})
	now := d.nftCounters("inet", "marks")
	var congested uint64
	for _, s := range streams {
		rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
		if m.Tx[s.ID].Sent != frames || rx.Received != frames || rx.Notified != rx.Congested || m.Notifications[s.TxPort] != rx.Notified {
			t.Errorf("%s: sent %d, received %+v, %d answers came", s.TxPort, m.Tx[s.ID].Sent, rx, m.Notifications[s.TxPort])
		}
		congested += rx.Congested
	}
	t.Logf("marked %d, congested %d, forwarded answers %d, received %v", now["marked"]-before["marked"], congested, now["answered"]-before["answered"], m.Notifications)
	if congested == 0 || congested != now["marked"]-before["marked"] || congested != now["answered"]-before["answered"] || len(m.Unsent)+len(m.Damaged) > 0 {
		t.Errorf("%d marks, router %v, before %v, unsent %v, damaged %v", congested, now, before, m.Unsent, m.Damaged)
	}
}

// keep writes what a packet socket has received to a file, for a look with another program.
func (d *device) keep(fd int, name string) {
	d.Helper()
	file, err := os.Create(name)
	if err != nil {
		d.Fatal(err)
	}
	defer file.Close()
	w := pcapgo.NewWriter(file)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeEthernet); err != nil {
		d.Fatal(err)
	}
	for b := make([]byte, 1<<14); ; {
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
		if err != nil {
			return
		}
		if err := w.WritePacket(gopacket.CaptureInfo{CaptureLength: n, Length: n, Timestamp: time.Now()}, b[:n]); err != nil {
			d.Fatal(err)
		}
	}
}

// A port that cannot send XDP frames refuses to answer, and names what to do.
func TestRefusesAnswersThatItCannotSend(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.gro("d2", false)
	e := bed.open(d.ports(nil, nil)...)
	s := stream(1, e)
	answers(&s, 0)
	s.FrameSize = 130
	if takes, err := takesFrames(e.ports.named("p2").index); err != nil || takes {
		t.Skipf("skipped: the interface takes XDP frames, or the kernel does not tell: %v, %v", takes, err)
	}
	if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Fatal(err)
	}
	err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 1}}})
	if err == nil || !strings.Contains(err.Error(), "port p2 (v2) cannot answer marked frames") || !strings.Contains(err.Error(), "remove cnp from rocev2") {
		t.Errorf("%v", err)
	}
}
