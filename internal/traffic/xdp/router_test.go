package xdp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// A Linux router needs no static entries: it is asked by ARP and neighbor
// discovery, it asks for the hosts behind the tester's ports, and forwards
// every frame of both families in both directions. So does one whose interfaces are in
// VLANs, and which hears nothing that is not.
func TestRouter(t *testing.T) {
	for name, vlans := range map[string][2]frame.VLANs{
		"untagged":                            {},
		"in a VLAN and one of a service VLAN": {{{ID: 100, Priority: 5}}, {{ID: 1000}, {ID: 4094}}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "untagged" {
				longtest.Skip(t, "frames in VLANs, and TestRunMethodsOverRouter")
			}
			routed(t, vlans)
		})
	}
}

func routed(t *testing.T, vlans [2]frame.VLANs) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24", "2001:2:0:1::1/64"), prefixes("198.18.2.1/24", "2001:2:0:2::1/64"))
	ports := d.ports(
		prefixes("198.18.1.2/24", "2001:2:0:1::2/64", "198.18.1.3/24", "2001:2:0:1::3/64"),
		prefixes("198.18.2.2/24", "2001:2:0:2::2/64", "198.18.2.3/24", "2001:2:0:2::3/64"))
	for i, l := range []netlink.Link{d.d1, d.d2} {
		ports[i].VLANs = vlans[i]
		d.inVLAN(l, vlans[i])
	}
	e := bed.open(ports...)

	var streams []traffic.Stream
	learning, trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}, traffic.Trial{Loads: map[uint16]traffic.Load{}}
	add := func(from, to, gateway, src, dst string, size int) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		mac, err := e.Resolve(ctx, from, netip.MustParseAddr(gateway))
		if err != nil {
			t.Fatal(err)
		}
		s := stream(uint16(len(streams)), e)
		s.TxPort, s.RxPorts, s.FrameSize = from, []string{to}, size
		s.Headers.SrcMAC, s.Headers.DstMAC = e.ports.named(from).mac, mac
		s.Headers.VLANs = e.ports.named(from).VLANs
		s.Headers.SrcIP, s.Headers.DstIP = netip.MustParseAddr(src), netip.MustParseAddr(dst)
		s.Headers.SrcIPCount, s.Headers.DstIPCount = 2, 2
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 2000, PerNanos: 1e9}, Frames: 3000}
		learning.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 2000, PerNanos: 1e9}, Frames: 10}
	}
	add("p1", "p2", "198.18.1.1", "198.18.1.2", "198.18.2.2", 72)
	add("p2", "p1", "198.18.2.1", "198.18.2.2", "198.18.1.2", 1518)
	add("p1", "p2", "2001:2:0:1::1", "2001:2:0:1::2", "2001:2:0:2::2", 94)
	add("p2", "p1", "2001:2:0:2::1", "2001:2:0:2::2", "2001:2:0:1::2", 512)
	// While the router asks for the second host of a port, frames to the first
	// overtake; none is lost.
	if m := bed.run(e, streams, learning, arrived); !arrived(m) {
		t.Errorf("learning: sent %d, received %d", sent(m), received(m))
	}
	m := bed.again(e, trial, arrived)
	for _, s := range streams {
		rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
		if m.Tx[s.ID].Sent != 3000 || rx.Received != 3000 || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("stream %d: sent %d, received %d, duplicate %d, reordered %d, want 3000", s.ID, m.Tx[s.ID].Sent, rx.Received, rx.Duplicate, rx.Reordered)
		}
		checkLatency(t, rx)
	}
}

// The neighbor does not answer.
func TestResolveUnanswered(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	e := bed.open(d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), nil)...)
	for _, addr := range []string{"198.18.1.1", "2001:2:0:1::1"} {
		// The deadline comes when the question is out, which is seen at the device.
		ctx, cancel := context.WithCancel(t.Context())
		fd := d.listen("d1")
		go func() {
			defer cancel()
			until(fd, func(p gopacket.Packet) bool { return asks(p, netip.MustParseAddr(addr)) })
		}()
		_, err := e.Resolve(ctx, "p1", netip.MustParseAddr(addr))
		var unresolved *traffic.UnresolvedError
		if !errors.As(err, &unresolved) || unresolved.Port != "p1" || unresolved.Addr.String() != addr {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := e.Resolve(t.Context(), "p9", netip.MustParseAddr("198.18.1.1")); err == nil {
		t.Error("port p9 does not exist")
	}
}

// Where both ends are the tester's, its ports know each other.
func TestResolveOwn(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	if mac, err := e.Resolve(t.Context(), "p1", netip.MustParseAddr("198.18.0.2")); err != nil || mac != e.ports.named("p2").mac {
		t.Errorf("%x %v, want %x", mac, err, e.ports.named("p2").mac)
	}
}

// A port belongs to one engine, and is afterwards as it was.
func TestOpenAndClose(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{})
	state := func() string {
		t.Helper()
		l, err := bed.nl.LinkByName("v1")
		if err != nil {
			t.Fatal(err)
		}
		addrs, err := bed.nl.AddrList(l, 0)
		if err != nil {
			t.Fatal(err)
		}
		own := 0
		for _, a := range addrs {
			if !a.IP.IsLinkLocalUnicast() {
				own++
			}
		}
		a := l.Attrs()
		attached := a.Xdp != nil && a.Xdp.Attached
		return fmt.Sprintf("up %v, MTU %d, XDP %v, %d addresses", a.RawFlags&1 != 0, a.MTU, attached, own)
	}
	before := state()
	ports := d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), nil)
	e, err := New(Options{Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := state(), "up true, MTU 1500, XDP true, 2 addresses"; got != want {
		t.Errorf("open: %s, want %s", got, want)
	}
	if other, err := New(Options{Ports: ports}); err == nil {
		other.Close()
		t.Error("the ports were opened twice")
	} else {
		t.Log(err)
	}
	if got, want := state(), "up true, MTU 1500, XDP true, 2 addresses"; got != want {
		t.Errorf("after a second engine failed: %s, want %s", got, want)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := state(); got != before {
		t.Errorf("closed: %s, before: %s", got, before)
	}
	if err := e.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}

	gone, err := New(Options{Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	if err := bed.nl.LinkDel(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "v2"}}); err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Errorf("closing when an interface has gone: %v", err)
	}
	before = state()

	for name, ports := range map[string][]Port{
		"none":                {},
		"no such interface":   {{Name: "p1", Interface: "v9"}},
		"one interface twice": {{Name: "p1", Interface: "v1"}, {Name: "p2", Interface: "v1"}},
		"not Ethernet":        {{Name: "p1", Interface: "lo"}},
	} {
		if e, err := New(Options{Ports: ports}); err == nil {
			e.Close()
			t.Errorf("%s: accepted", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	if got := state(); got != before {
		t.Errorf("after failures: %s, before: %s", got, before)
	}
}
