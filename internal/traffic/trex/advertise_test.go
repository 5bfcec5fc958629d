package trex

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// prefixes parses addresses with their prefix lengths.
func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// routed opens ports with so many hosts behind gateways that answer.
func routed(t *testing.T, f *fakeServer, hosts int) *Engine {
	t.Helper()
	var ports []Port
	for i, name := range []string{"left", "right"} {
		p := Port{Name: name, Index: i, Addresses: prefixes(fmt.Sprintf("198.18.%d.2/16", i), fmt.Sprintf("2001:2:0:%d::2/64", i))}
		for n := range hosts - 1 {
			p.Addresses = append(p.Addresses, netip.PrefixFrom(traffic.Above(p.Addresses[0].Addr(), uint32(n+1)), 16))
		}
		ports = append(ports, p)
		f.locked(func() {
			f.hosts[addr(fmt.Sprintf("198.18.%d.1", i))] = traffic.MAC{2, 0, 0, 0, 9, byte(i)}
			f.hosts[addr(fmt.Sprintf("2001:2:0:%d::1", i))] = traffic.MAC{2, 0, 0, 0, 9, byte(i)}
		})
	}
	e, err := New(t.Context(), Options{Endpoint: f.endpoint, Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return e
}

// resolveAll resolves all gateways.
func resolveAll(t *testing.T, e *Engine) {
	t.Helper()
	for i, name := range []string{"left", "right"} {
		for _, gateway := range []string{fmt.Sprintf("198.18.%d.1", i), fmt.Sprintf("2001:2:0:%d::1", i)} {
			if _, err := e.Resolve(t.Context(), name, addr(gateway)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// advertised is the rate, in frames per second, of the announcements of the fake's ports.
func (f *fakeServer) advertised() (pps []float64) {
	f.locked(func() {
		for _, p := range f.ports {
			var sum float64
			if one := p.profiles[advertising]; one != nil && one.sending {
				for _, s := range one.streams {
					sum += s.pps
				}
			}
			pps = append(pps, sum)
		}
	})
	return pps
}

// Ports announce their addresses to gateways while trials run, whose counters are as
// exact as without; also after a gateway was asked again and the server was started
// again; and no longer once the engine is closed.
func TestAdvertise(t *testing.T) {
	f := newFake(t)
	e := routed(t, f, 1)
	want := []float64{10, 10} // two addresses, five times a second
	silent := []float64{0, 0}
	resolveAll(t, e)
	if got := f.advertised(); !slices.Equal(got, silent) {
		t.Errorf("%v frames/s before there are streams: want none", got)
	}
	restart := func() {
		f.down()
		f.up()
		if err := e.Configure(t.Context(), nil); !errors.Is(err, traffic.ErrInterrupted) {
			t.Errorf("%v: want that the server was lost", err)
		}
	}
	for _, again := range []func(){func() {}, func() { resolveAll(t, e) }, restart} {
		again()
		configure(t, e, ipv4(t, e, 1))
		exactly(t, run(t, e, frames(2_000, 20_000)), 2_000)
		other := frames(1_000, 20_000)
		other.Epoch = 7 // with other servers, for which streams are listed
		exactly(t, run(t, e, other), 1_000)
		if got := f.advertised(); !slices.Equal(got, want) {
			t.Errorf("%v frames/s: want %v", got, want)
		}
	}
	resolveAll(t, e)
	if got := f.advertised(); !slices.Equal(got, want) {
		t.Errorf("%v frames/s after the gateways were asked between trials: want %v", got, want)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := f.advertised(); !slices.Equal(got, silent) {
		t.Errorf("%v frames/s of an engine that is closed", got)
	}
}

// What an engine left that could not close is ended by the next.
func TestAdvertisingIsSwept(t *testing.T) {
	f := newFake(t)
	e := routed(t, f, 1)
	resolveAll(t, e)
	configure(t, e, ipv4(t, e, 1))
	next, err := New(t.Context(), Options{Endpoint: f.endpoint, Force: true, Ports: []Port{{Name: "left", Index: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if got := f.advertised()[0]; got != 0 {
		t.Errorf("%v frames/s are left on left", got)
	}
	e.server.ports = nil // they are no longer its own
}

// A neighbor that is no gateway gets no announcements.
func TestNoAdvertisingToPeers(t *testing.T) {
	f := newFake(t)
	e := routed(t, f, 1)
	resolveAll(t, e)
	peer := ipv4(t, e, 1)
	peer.Headers.DstIP = addr("198.18.0.1")
	configure(t, e, peer)
	if got, want := f.advertised(), []float64{5, 10}; !slices.Equal(got, want) {
		t.Errorf("%v frames/s: want %v, as 198.18.0.1 is no gateway", got, want)
	}
}

// An address is announced five times a second, and all of a port a hundred times, or so
// many more that each is announced every other second.
func TestAdvertisingIsBounded(t *testing.T) {
	for hosts, want := range map[int]float64{1: 10, 10: 55, 99: 100, 199: 100, 999: 500, 4095: 2048} {
		f := newFake(t)
		e := routed(t, f, hosts)
		resolveAll(t, e)
		configure(t, e, ipv4(t, e, 1))
		// The shares of streams are rounded.
		if got := f.advertised()[0]; got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%d hosts: %v frames/s, want %v", hosts, got, want)
		}
		f.locked(func() {
			if n := len(f.ports[0].profiles[advertising].streams); n != 2 {
				t.Errorf("%d hosts take %d streams: want one for each family", hosts, n)
			}
		})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Each address of a port is announced in a frame of its own to its gateway only, in the
// format of RFC 826 and RFC 4861, however many cores send, and in the VLAN of the port.
func TestAdvertisements(t *testing.T) {
	for name, vlans := range map[string]frame.VLANs{"untagged": nil, "in a VLAN": {{ID: 100}}, "in a service VLAN": {{ID: 1000}, {ID: 100}}} {
		t.Run(name, func(t *testing.T) { advertisements(t, vlans) })
	}
}

func advertisements(t *testing.T, vlans frame.VLANs) {
	mac, gateway := traffic.MAC{2, 0, 0, 0, 0, 7}, traffic.MAC{2, 0, 0, 0, 9, 9}
	p := &neighbours{Port: &Port{VLANs: vlans}, mac: mac, known: map[netip.Addr]traffic.MAC{addr("198.18.0.1"): gateway, addr("fe80::1"): gateway, addr("198.18.0.77"): {2}}}
	var want []netip.Addr
	for _, first := range []string{"198.18.0.250", "198.18.9.2", "2001:2::fffe", "2001:2::ffff:fffe"} {
		for n := range uint32(11) {
			a := traffic.Above(addr(first), n)
			want = append(want, a)
			p.Addresses = append(p.Addresses, netip.PrefixFrom(a, 16))
		}
	}
	p.Addresses = append(p.Addresses, p.Addresses[0]) // named twice, announced once
	slices.SortFunc(want, netip.Addr.Compare)
	all := p.announcements(map[netip.Addr]bool{addr("198.18.0.77"): true})
	if len(all) != 5 {
		t.Errorf("%d streams: want one of each range, of which the last passes a word", len(all))
	}
	for cores := uint64(1); cores <= 3; cores++ {
		times := map[netip.Addr]int{}
		for _, one := range all {
			for n := range uint64(one.count) {
				a := heard(t, fixed(t, one, vlans, n%cores, cores, n/cores), mac, gateway)
				times[a]++
			}
		}
		if cores == 1 && slices.Max(slices.Collect(maps.Values(times))) > 1 {
			t.Errorf("announced more than once in a round: %v", times)
		}
		if got := slices.SortedFunc(maps.Keys(times), netip.Addr.Compare); !slices.Equal(got, want) {
			t.Errorf("%d cores announce %v: want %v", cores, got, want)
		}
	}
}

// fixed is a frame as the field engine leaves it, with the checksum of ICMPv6 put right
// if that is asked for, and without its tags.
func fixed(t *testing.T, one announcement, vlans frame.VLANs, core, cores, n uint64) []byte {
	t.Helper()
	fields, fix := one.vm, false
	if i := len(fields) - 1; i >= 0 && fields[i]["type"] == "fix_checksum_icmpv6" {
		if at := fields[i]["l2_len"]; at != ethernetBytes+vlans.Bytes() {
			t.Errorf("the network layer is said to begin at %v in %v", at, vlans)
		}
		fields, fix = fields[:i], true
	}
	b, ok := vlans.Untag(engine(t, fields, one.packet, core, cores, n))
	if !ok {
		t.Fatalf("not in %v: % x", vlans, one.packet)
	}
	if fix {
		ip := b[ethernetBytes:]
		message := ip[ipv6Bytes:]
		message[2], message[3] = 0, 0
		sum := frame.Checksum(frame.Sum(ip[8:ipv6Bytes]) + protoICMPv6 + uint64(len(message)) + frame.Sum(message))
		message[2], message[3] = byte(sum>>8), byte(sum)
	}
	return b
}

// heard is the address that a frame announces, as an independent decoder reads it.
func heard(t *testing.T, b []byte, mac, gateway traffic.MAC) netip.Addr {
	t.Helper()
	decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	ethernet := decoded.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	if !slices.Equal(ethernet.SrcMAC, net.HardwareAddr(mac[:])) || !slices.Equal(ethernet.DstMAC, net.HardwareAddr(gateway[:])) {
		t.Errorf("from %v to %v: want from %v to %v", ethernet.SrcMAC, ethernet.DstMAC, mac, gateway)
	}
	if icmp, ok := decoded.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6); ok {
		if err := icmp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
			t.Fatal(err)
		}
	}
	if err, wrong := decoded.VerifyChecksums(); err != nil || len(wrong) > 0 {
		t.Errorf("checksums: %v, %v", err, wrong)
	}
	if arp, ok := decoded.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		if arp.Operation != layers.ARPReply || !slices.Equal(arp.SourceHwAddress, mac[:]) || !slices.Equal(arp.DstHwAddress, gateway[:]) ||
			!slices.Equal(arp.DstProtAddress, addr("198.18.0.1").AsSlice()) {
			t.Errorf("%+v: want a reply of %v to %v, 198.18.0.1", arp, mac, gateway)
		}
		a, _ := netip.AddrFromSlice(arp.SourceProtAddress)
		return a
	}
	ip := decoded.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	na, ok := decoded.Layer(layers.LayerTypeICMPv6NeighborAdvertisement).(*layers.ICMPv6NeighborAdvertisement)
	if !ok {
		t.Fatalf("no neighbour advertisement: %v", decoded)
	}
	if !na.Solicited() || !na.Override() || na.Router() || ip.HopLimit != 255 || !ip.DstIP.Equal(net.ParseIP("fe80::1")) || !ip.SrcIP.Equal(na.TargetAddress) {
		t.Errorf("%+v %+v: want solicited, override, not a router, 255 hops, to fe80::1 from the target", ip, na)
	}
	if o := na.Options; len(o) != 1 || o[0].Type != layers.ICMPv6OptTargetAddress || !slices.Equal(o[0].Data, mac[:]) {
		t.Errorf("options %v: want the target's link-layer address %v", na.Options, mac)
	}
	a, _ := netip.AddrFromSlice(na.TargetAddress)
	return a
}
