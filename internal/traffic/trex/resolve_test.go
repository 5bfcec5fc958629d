package trex

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func TestResolve(t *testing.T) {
	for name, vlans := range map[string]frame.VLANs{"untagged": nil, "in a VLAN": {{ID: 100, Priority: 3}}, "in a service VLAN": {{ID: 1000}, {ID: 100}}} {
		t.Run(name, func(t *testing.T) { resolves(t, vlans) })
	}
}

// resolves asks a server whose network is in a VLAN, of which a port of the engine is
// part.
func resolves(t *testing.T, vlans frame.VLANs) {
	f := newFake(t)
	f.vlans = vlans
	e, err := New(t.Context(), Options{Endpoint: f.endpoint, Ports: []Port{
		{Name: "left", Index: 0, VLANs: vlans, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24"), netip.MustParsePrefix("2001:2::2/64")}},
		{Name: "right", Index: 1, VLANs: vlans, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	four, six := traffic.MAC{2, 0, 0, 0, 9, 4}, traffic.MAC{2, 0, 0, 0, 9, 6}
	f.hosts[addr("198.18.0.1")], f.hosts[addr("2001:2::1")] = four, six
	for to, want := range map[string]traffic.MAC{
		"198.18.0.1": four, "2001:2::1": six,
		"198.18.1.2": f.ports[1].mac, // of the engine itself
	} {
		got, err := e.Resolve(t.Context(), "left", addr(to))
		if err != nil || got != want {
			t.Errorf("%s: %v, %v: want %v", to, got, err, want)
		}
	}
	if p := f.ports[0]; p.src != "198.18.0.2" || p.dst != "198.18.0.1" {
		t.Errorf("the server was set to %q and %q: want the port's address and the neighbour's", p.src, p.dst)
	}
	if tags := f.ports[0].tags; len(tags) != len(vlans) || len(tags) > 0 && tags[0] != float64(vlans[0].ID) {
		t.Errorf("the server answers ARP in %v, want %v", tags, vlans)
	}
	if f.ports[0].inService || len(f.captures) > 0 {
		t.Errorf("service mode is %t and there are %d captures: want neither to be left", f.ports[0].inService, len(f.captures))
	}
	// No neighbor answers. The context ends once the request was sent.
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for asked := 0; asked == 0; {
			f.locked(func() {
				if asked = f.calls["push_pkts"] - 2; asked < 0 {
					asked = 0
				}
			})
		}
		cancel()
	}()
	var unanswered *traffic.UnresolvedError
	if _, err := e.Resolve(ctx, "left", addr("198.18.0.77")); !errors.As(err, &unanswered) || unanswered.Port != "left" {
		t.Errorf("%v: want that 198.18.0.77 did not answer on left", err)
	}
	f.locked(func() {
		if f.ports[0].inService || len(f.captures) > 0 {
			t.Errorf("after no answer, service mode is %t and there are %d captures", f.ports[0].inService, len(f.captures))
		}
	})
	if _, err := e.Resolve(t.Context(), "right", addr("2001:2::1")); err == nil {
		t.Error("a port without an address of IPv6 asked for one")
	}
}

// A kernel answers ARP and neighbor discovery of a port, and the counters are
// right after it.
func TestResolveOnTheWire(t *testing.T) {
	everyServer(t, true, func(t *testing.T, s suite) {
		if s.fake != nil {
			s.neighbour = traffic.MAC{2, 0, 0, 0, 9, 9}
			s.fake.hosts[addr(NeighbourIPv4)], s.fake.hosts[addr(NeighbourIPv6)] = s.neighbour, s.neighbour
		}
		if s.neighbour == (traffic.MAC{}) {
			t.Skipf("%s names a server of whose neighbours nothing is known", endpointVariable)
		}
		e, err := New(t.Context(), Options{Endpoint: s.endpoint, Ports: []Port{
			{Name: "left", Index: 0, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24"), netip.MustParsePrefix("2001:2::2/64")}},
			{Name: "right", Index: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for range 2 {
			for _, to := range []string{NeighbourIPv4, NeighbourIPv6} {
				ctx, cancel := context.WithTimeout(t.Context(), trialPatience)
				got, err := e.Resolve(ctx, "left", addr(to))
				cancel()
				if err != nil || got != s.neighbour {
					t.Errorf("%s: %v, %v: want %v", to, got, err, s.neighbour)
				}
			}
			configure(t, e, ipv4(t, e, 1))
			m := run(t, e, frames(2_000, 20_000))
			if rx := m.Rx[traffic.RxKey{Stream: 1, Port: "right"}]; m.Tx[1].Sent != 2_000 || rx.Received != 1_900 {
				t.Errorf("sent %d, received %d: want 2000, and 1900", m.Tx[1].Sent, rx.Received)
			}
		}
	})
}

func TestSolicitation(t *testing.T) {
	b := neighbourSolicitation(traffic.MAC{2, 0, 0, 0, 0, 1}, addr("2001:2::2"), addr("2001:2::12:3456"))
	if b[2] != 0xff || b[3] != 0x12 || b[4] != 0x34 || b[5] != 0x56 {
		t.Errorf("sent to % x: want the group of the address's last three bytes", b[:6])
	}
	ip := b[ethernetBytes:]
	if sum := frame.Checksum(frame.Sum(ip[8:]) + protoICMPv6 + uint64(len(ip)-ipv6Bytes)); sum != 0 {
		t.Errorf("the checksum is off by %#x", sum)
	}
}

// Frames that are no answer, or not to this question, are ignored.
func TestAnswerIgnoresOthers(t *testing.T) {
	mac := traffic.MAC{2, 0, 0, 0, 0, 1}
	request := arpRequest(mac, addr("198.18.0.1"), addr("198.18.0.2"))
	reply := arpRequest(mac, addr("198.18.0.1"), addr("198.18.0.2"))
	reply[21] = arpReplyOp
	for name, c := range map[string]struct {
		frame []byte
		from  string
		want  bool
	}{
		"reply":            {reply, "198.18.0.1", true},
		"reply of another": {reply, "198.18.0.3", false},
		"request":          {request, "198.18.0.1", false},
		"short":            {reply[:20], "198.18.0.1", false},
		"nothing":          {nil, "198.18.0.1", false},
		"solicitation":     {neighbourSolicitation(mac, addr("2001:2::1"), addr("2001:2::2")), "2001:2::2", false},
	} {
		if _, ok := answer(c.frame, addr(c.from)); ok != c.want {
			t.Errorf("%s: taken as an answer is %t, want %t", name, ok, c.want)
		}
		inVLAN := neighbours{Port: &Port{VLANs: frame.VLANs{{ID: 100}}}}
		if _, ok := inVLAN.answer(c.frame, addr(c.from)); ok {
			t.Errorf("%s: taken as an answer in VLAN 100", name)
		}
		if c.frame == nil {
			continue
		}
		if _, ok := inVLAN.answer(frame.VLANs{{ID: 100, Priority: 7}}.Tag(c.frame), addr(c.from)); ok != c.want {
			t.Errorf("%s: taken as an answer in VLAN 100 is %t, want %t", name, ok, c.want)
		}
	}
}
