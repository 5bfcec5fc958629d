package xdp

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// tagsOf are the tags of a frame.
func tagsOf(p gopacket.Packet) (tags frame.VLANs) {
	for _, l := range p.Layers() {
		if tag, ok := l.(*layers.Dot1Q); ok {
			tags = append(tags, frame.VLAN{ID: tag.VLANIdentifier, Priority: tag.Priority})
		}
	}
	return tags
}

// What a port asks and reports has the tags of its VLAN, as seen on the wire.
func TestAsksInVLAN(t *testing.T) { asksInVLAN(t) }

// The same on a kernel without TCX, and nothing is left on the interface, also of a run
// that was killed.
func TestAsksInVLANWithoutTCX(t *testing.T) {
	attachTCX = func(link.TCXOptions) (link.Link, error) { return nil, ebpf.ErrNotSupported }
	t.Cleanup(func() { attachTCX = link.AttachTCX })
	asksInVLAN(t)

	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	v1 := bed.up(bed.nl, "v1")
	qdiscs := func() (kinds []string) {
		all, err := bed.nl.QdiscList(v1)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			kinds = append(kinds, q.Type())
		}
		return kinds
	}
	before := qdiscs()
	var o kernel.TagObjects
	if err := kernel.LoadTagObjects(&o, nil); err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	// As left behind by a process that was killed.
	if err := netif.AttachClsact(bed.nl, v1.Attrs().Index, o.Untag.FD(), o.Tag.FD()); err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Host: "test", Ports: []Port{{Name: "p1", Interface: "v1", Addresses: prefixes("198.18.1.2/24"), VLANs: frame.VLANs{{ID: 100}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if during := qdiscs(); !slices.Contains(during, "clsact") {
		t.Errorf("queueing disciplines of an open port: %v", during)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if after := qdiscs(); !slices.Equal(before, after) {
		t.Errorf("queueing disciplines %v before, %v after", before, after)
	}
}

func asksInVLAN(t *testing.T) {
	t.Helper()
	for name, vlans := range map[string]frame.VLANs{
		"VLAN":         {{ID: 100, Priority: 5}},
		"service VLAN": {{ID: 1000, Priority: 1}, {ID: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := bed.device()
			ports := d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), nil)
			ports[0].VLANs = vlans
			e := bed.open(ports...)
			fd := d.listen("d1")
			tagged := func(what string, is func(gopacket.Packet) bool) {
				t.Helper()
				b, err := until(fd, is)
				if err != nil {
					t.Fatal(err)
				}
				if got := tagsOf(gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)); got.String() != vlans.String() || got[0].Priority != vlans[0].Priority {
					t.Errorf("%s: tags %v, want %v", what, got, vlans)
				}
			}
			for _, addr := range []string{"198.18.1.1", "2001:2:0:1::1"} {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() {
					_, err := e.Resolve(ctx, "p1", netip.MustParseAddr(addr))
					done <- err
				}()
				tagged(addr, func(p gopacket.Packet) bool { return asks(p, netip.MustParseAddr(addr)) })
				cancel()
				if err := <-done; !errors.As(err, new(*traffic.UnresolvedError)) {
					t.Errorf("%s: %v", addr, err)
				}
			}
			if _, err := e.Join(t.Context(), []traffic.Membership{join("p1", "239.1.0.1", 1), join("p1", "ff35::1:1", 1)}); err != nil {
				t.Fatal(err)
			}
			tagged("IGMP", func(p gopacket.Packet) bool { return p.Layer(layers.LayerTypeIGMP) != nil })
			group := netip.MustParseAddr("ff35::1:1")
			tagged("MLD", func(p gopacket.Packet) bool {
				mld, ok := p.Layer(layers.LayerTypeMLDv2MulticastListenerReport).(*layers.MLDv2MulticastListenerReportMessage)
				return ok && len(mld.MulticastAddressRecords) > 0 && mld.MulticastAddressRecords[0].MulticastAddress.Equal(group.AsSlice())
			})
		})
	}
}

// A device whose interfaces are in VLANs asks there who is a member of a group, and
// hears the answers: it forgets who does not answer.
func TestMulticastInVLANs(t *testing.T) {
	longtest.Skip(t, "TestMulticast, and TestRouter in VLANs")
	bed := newBed(t)
	d := bed.device()
	d.snooper(3, 2)
	ports := append(d.ports(prefixes("198.18.0.1/24"), prefixes("198.18.0.2/24")), Port{Name: "p3", Interface: "v3"})
	for i, vlans := range []frame.VLANs{{{ID: 100}}, {{ID: 1000}, {ID: 200}}, {{ID: 300}}} {
		ports[i].VLANs = vlans
		d.inVLAN(d.up(d.nl, []string{"d1", "d2", "d3"}[i]), vlans)
	}
	e := bed.open(ports...)
	streams := []traffic.Stream{toGroup(1, e, "239.1.0.1", 1), toGroup(2, e, "ff35::1:1", 1)}
	for i := range streams {
		streams[i].FrameSize, streams[i].Headers.VLANs = 128, e.ports.named("p1").VLANs
	}
	bed.reach(e, streams, [2]bool{false, false})
	groups := func(port string) []traffic.Membership {
		return []traffic.Membership{join(port, "239.1.0.1", 1), join(port, "ff35::1:1", 1)}
	}
	for _, port := range []string{"p2", "p3"} {
		if _, err := e.Join(t.Context(), groups(port)); err != nil {
			t.Fatal(err)
		}
	}
	bed.reach(e, streams, [2]bool{true, true})
	// Longer than the bridge remembers.
	bed.exactly(e, streams, 35_000, [2]uint64{35_000, 35_000})
	if _, err := e.Leave(t.Context(), groups("p2")); err != nil {
		t.Fatal(err)
	}
	bed.reach(e, streams, [2]bool{false, true})
}
