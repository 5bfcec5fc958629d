package xdp

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// markedBy returns the value of a counter of nftables in the device's namespace.
func (d *device) markedBy(counter string) uint64 {
	d.Helper()
	var out []byte
	var err error
	d.in(d.ns, func() {
		out, err = exec.CommandContext(d.Context(), "nft", "-j", "list", "counter", "inet", "marks", counter).Output()
	})
	var list struct {
		Nftables []struct{ Counter *struct{ Packets uint64 } }
	}
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		d.Fatalf("reading counter %s: %v: %s", counter, err, out)
	}
	for _, object := range list.Nftables {
		if object.Counter != nil {
			return object.Counter.Packets
		}
	}
	d.Fatalf("no counter %s: %s", counter, out)
	return 0
}

// A router marks what exceeds a rate with CE, of both families and of RoCEv2, and counts it. The
// receiver counts the same frames, and none of a stream whose frames may not be marked. A marked
// frame is no damaged one.
func TestCountsMarksOfARouter(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24", "2001:2:0:1::1/64"), prefixes("198.18.2.1/24", "2001:2:0:2::1/64"))
	d.nft(`table inet marks {
 counter ipv4 {}
 counter ipv6 {}
 chain forward { type filter hook forward priority 0;
  ip ecn != not-ect limit rate over 900/second burst 5 packets ip ecn set ce counter name ipv4
  ip6 ecn != not-ect limit rate over 300/second burst 5 packets ip6 ecn set ce counter name ipv6
 }
}
`)
	e := bed.open(d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), prefixes("198.18.2.2/24", "2001:2:0:2::2/64"))...)
	const frames = 1500
	families := [][4]string{{"198.18.1.1", "198.18.2.1", "198.18.1.2", "198.18.2.2"}, {"2001:2:0:1::1", "2001:2:0:2::1", "2001:2:0:1::2", "2001:2:0:2::2"}}
	var streams []traffic.Stream
	learning, trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}, traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for family, addresses := range families {
		mac, err := e.Resolve(t.Context(), "p1", netip.MustParseAddr(addresses[0]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Resolve(t.Context(), "p2", netip.MustParseAddr(addresses[1])); err != nil {
			t.Fatal(err)
		}
		for i, class := range []uint8{0, traffic.ECT0, 46<<2 | traffic.ECT1, 26<<2 | traffic.ECT0} {
			s := stream(uint16(10*family+i), e)
			s.FrameSize = 130
			if i == 3 {
				roce(&s)
			}
			h := &s.Headers
			h.SrcMAC, h.DstMAC, h.TrafficClass = e.ports.named("p1").mac, mac, class
			h.SrcIP, h.DstIP = netip.MustParseAddr(addresses[2]), netip.MustParseAddr(addresses[3])
			streams = append(streams, s)
			learning.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 5}
			trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}
		}
	}
	if m := bed.run(e, streams, learning, arrived); !arrived(m) {
		t.Errorf("learning: sent %d, received %d", sent(m), received(m))
	}
	before := [2]uint64{d.markedBy("ipv4"), d.markedBy("ipv6")}
	m := bed.again(e, trial, arrived)
	marked := [2]uint64{d.markedBy("ipv4") - before[0], d.markedBy("ipv6") - before[1]}
	var counted [2]uint64
	for _, s := range streams {
		rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: "p2"}]
		t.Logf("stream %d, traffic class %#02x, opcode of RoCEv2 %d: received %d, marked %d", s.ID, s.Headers.TrafficClass, s.Headers.RoCE.Opcode, rx.Received, rx.Congested)
		if m.Tx[s.ID].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("stream %d: sent %d, received %+v, want %d", s.ID, m.Tx[s.ID].Sent, rx, frames)
		}
		if marks := rx.Congested > 0; marks != s.Headers.ECNCapable() {
			t.Errorf("stream %d with traffic class %#02x: %d frames marked", s.ID, s.Headers.TrafficClass, rx.Congested)
		}
		counted[s.ID/10] += rx.Congested
	}
	if counted != marked || len(m.Damaged) > 0 {
		t.Errorf("counted %d marks over IPv4 and IPv6, the router %d; damaged %v", counted, marked, m.Damaged)
	}
}
