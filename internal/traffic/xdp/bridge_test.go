package xdp

import (
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// ethernet makes a stream one without a network layer, between ranges of
// addresses that begin at from and to.
func ethernet(s *traffic.Stream, from, to traffic.MAC, count uint32) {
	etherOnly(&s.Headers)
	s.Headers.SrcMAC, s.Headers.DstMAC = from, to
	s.Headers.SrcMACCount, s.Headers.DstMACCount = count, count
}

// A bridge passes frames of all kinds, and they leave it as they were sent:
// compared byte by byte on its far side, and counted exactly behind it.
func TestThroughABridge(t *testing.T) {
	left, right := traffic.MAC{0x02, 0, 0x5e, 0xff, 0xff, 0xf0}, traffic.MAC{0x02, 0, 0x5f, 0, 0, 1}
	type bridged struct {
		*bed
		engine *Engine
		fd     int
	}
	beds := map[bool]bridged{}
	for _, inserted := range []bool{false, true} {
		d := newBed(t).device()
		d.bridge()
		d.gro("d1", true)
		if inserted {
			d.insertTags("d2")
		}
		fd := d.listen("d2")
		beds[inserted] = bridged{d.bed, d.open(d.ports(nil, nil)...), fd}
	}
	for name, test := range map[string]struct {
		size   int
		change func(*traffic.Stream)
		// inserted reports whether the tag is in the frame that the port receives, and not
		// next to it.
		inserted bool
	}{
		"Ethernet":           {64, func(s *traffic.Stream) { ethernet(s, left, right, 300) }, false},
		"Ethernet tagged":    {68, func(s *traffic.Stream) { ethernet(s, left, right, 3); s.Headers.VLANs = frame.VLANs{{ID: 5}} }, false},
		"tagged":             {68, func(s *traffic.Stream) { s.Headers.VLANs = frame.VLANs{{ID: 100, Priority: 6}} }, false},
		"tagged to the port": {68, func(s *traffic.Stream) { s.Headers.VLANs = frame.VLANs{{ID: 100, Priority: 6}} }, true},
		"labelled":           {80, func(s *traffic.Stream) { s.Headers.Labels, s.Headers.TTL = []uint32{16, 1<<20 - 1}, 3 }, false},
		"all at once":        {128, func(s *traffic.Stream) { labelled(&s.Headers) }, true},
		"expedited":          {64, func(s *traffic.Stream) { s.Headers.TrafficClass = 46 << 2 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			over := beds[test.inserted]
			bed, e := over.part(t), over.engine
			s := stream(1, e)
			s.FrameSize = test.size
			test.change(&s)
			const frames = 2000
			m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 5e4}, Frames: frames}}}, arrived)
			rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
			if m.Tx[1].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
				t.Errorf("sent %d, received %d, duplicate %d, reordered %d: want %d", m.Tx[1].Sent, rx.Received, rx.Duplicate, rx.Reordered, frames)
			}
			for i := range uint64(frames) {
				got, err := until(over.fd, isTestFrame)
				if err != nil {
					t.Fatal(err)
				}
				sig, _ := signatureIn(gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default))
				want, err := nthFrame(s, uint32(sig.Sequence)).Build(sig)
				if err != nil {
					t.Fatal(err)
				}
				if sig.Sequence != i || string(got) != string(want) {
					t.Fatalf("frame %d, number %d: got\n%x, want\n%x", i, sig.Sequence, got, want)
				}
			}
		})
	}
}

// insertTags makes a device put tags into the frames that it sends, instead of
// leaving that to the hardware that a veth does not have.
func (d *device) insertTags(name string) {
	d.Helper()
	d.feature(name, "tx-vlan-hw-insert", false)
}

// learned are the addresses that the bridge knows behind a port, less that of
// the tester's interface itself.
func (d *device) learned(behind netlink.Link, port *port) []traffic.MAC {
	d.Helper()
	entries, err := d.nl.NeighList(behind.Attrs().Index, unix.AF_BRIDGE)
	if err != nil {
		d.Fatal(err)
	}
	var macs []traffic.MAC
	for _, e := range entries {
		if mac := traffic.MAC(e.HardwareAddr); e.State&netlink.NUD_PERMANENT == 0 && mac != port.mac {
			macs = append(macs, mac)
		}
	}
	return macs
}

// A bridge learns exactly the addresses of a range, each once, and then frames
// to them go to where they are and nowhere else.
func TestBridgeLearnsTheRange(t *testing.T) {
	const count, frames = 3000, 3000
	left, right := traffic.MAC{0x02, 0, 0x5e, 1, 2, 3}, traffic.MAC{0x06, 0, 0x5e, 1, 2, 3}
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d3 := d.third()
	for _, name := range []string{"d1", "d2", "d3"} {
		d.gro(name, true)
	}
	e := bed.open(append(d.ports(nil, nil), Port{Name: "p3", Interface: "v3"})...)
	there, back := stream(1, e), stream(2, e)
	there.RxPorts, back.TxPort, back.RxPorts = []string{"p2", "p3"}, "p2", []string{"p1", "p3"}
	ethernet(&there, left, right, count)
	ethernet(&back, right, left, count)
	load := traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 5e4}, Frames: frames}

	// No address is known: what p1 sends is flooded, and what p2 answers is not.
	m := bed.run(e, []traffic.Stream{there, back}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}, func(m traffic.Measurement) bool { return received(m) == 2*frames })
	for _, port := range []string{"p2", "p3"} {
		if got := m.Rx[traffic.RxKey{Stream: 1, Port: port}].Received; got != frames {
			t.Errorf("%s received %d of %d flooded frames", port, got, frames)
		}
	}
	m = bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{2: load}}, arrived)
	if got := m.Rx[traffic.RxKey{Stream: 2, Port: "p1"}].Received; got != frames || received(m) != frames {
		t.Errorf("p1 received %d of %d, all ports %d", got, frames, received(m))
	}
	for behind, first := range map[netlink.Link]traffic.MAC{d.d1: left, d.d2: right} {
		var want []traffic.MAC
		for n := range uint32(count) {
			want = append(want, first.Nth(n))
		}
		got := d.learned(behind, e.ports.named(map[netlink.Link]string{d.d1: "p1", d.d2: "p2"}[behind]))
		compare := func(a, b traffic.MAC) int { return slices.Compare(a[:], b[:]) }
		slices.SortFunc(got, compare)
		slices.SortFunc(want, compare)
		if !slices.Equal(got, want) {
			t.Errorf("behind %s the bridge learnt %d addresses, want %d", behind.Attrs().Name, len(got), len(want))
		}
	}
	if got := d.learned(d3, e.ports.named("p3")); len(got) != 0 {
		t.Errorf("behind d3 the bridge learnt %v", got)
	}
	// Now all are known.
	m = bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, arrived)
	for key, want := range map[traffic.RxKey]uint64{{Stream: 1, Port: "p2"}: frames, {Stream: 2, Port: "p1"}: frames, {Stream: 1, Port: "p3"}: 0, {Stream: 2, Port: "p3"}: 0} {
		if got := m.Rx[key]; got.Received != want || got.Duplicate+got.Reordered != 0 {
			t.Errorf("stream %d at %s: received %d, duplicate %d, reordered %d: want %d", key.Stream, key.Port, got.Received, got.Duplicate, got.Reordered, want)
		}
	}
}

// third joins a third port, v3 at the tester and d3 at the bridge.
func (d *device) third() netlink.Link {
	d.Helper()
	d.veth("v3", "d3", d.ns)
	d3, br := d.up(d.nl, "d3"), d.up(d.nl, "br")
	if err := d.nl.LinkSetMaster(d3, br); err != nil {
		d.Fatal(err)
	}
	return d3
}

// A port hears all addresses while a stream needs it, and not longer.
func TestPromiscuous(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	mode := func(name string) int {
		t.Helper()
		l, err := bed.nl.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return l.Attrs().Promisc
	}
	macs := traffic.MAC{2, 0, 0, 0, 0, 1}
	for _, test := range []struct {
		name   string
		change func(*traffic.Stream)
		want   int
	}{
		{"its own address", func(*traffic.Stream) {}, 0},
		{"a range", func(s *traffic.Stream) { s.Headers.DstMACCount = 2 }, 1},
		{"another range", func(s *traffic.Stream) { ethernet(s, macs, macs, 7) }, 1},
		{"through a router", func(s *traffic.Stream) { s.Headers.DstMAC = macs }, 0},
		{"Ethernet to another address", func(s *traffic.Stream) { ethernet(s, macs, macs, 1) }, 1},
		{"Ethernet to its own", func(s *traffic.Stream) { ethernet(s, macs, s.Headers.DstMAC, 1) }, 0},
		{"a group", func(s *traffic.Stream) { s.Headers.DstMAC = traffic.MAC{1, 0, 0x5e, 0, 0, 1} }, 1},
		{"broadcast", func(s *traffic.Stream) { ethernet(s, macs, broadcast, 1) }, 0},
		{"at the end", func(s *traffic.Stream) { s.Headers.DstMACCount = 2 }, 1},
	} {
		s := stream(1, e)
		test.change(&s)
		if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
			t.Fatal(err)
		}
		if got := mode("v2"); got != test.want {
			t.Errorf("%s: %d want v2 to be promiscuous, want %d", test.name, got, test.want)
		}
		if got := mode("v1"); got != 0 {
			t.Errorf("%s: v1 is promiscuous, and receives nothing", test.name)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mode("v2"); got != 0 {
		t.Error("v2 is still promiscuous")
	}
}
