package bgp

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/routing"
)

// bed is a device's namespace with two ports of the tester, each in its own.
type bed struct {
	device   netns.NsHandle
	ports    map[string]Port
	sessions []routing.Session
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	b := &bed{device: newNamespace(t), ports: map[string]Port{}}
	for i := range 2 {
		port, inside, outside := newNamespace(t), fmt.Sprint("t", i), fmt.Sprint("d", i)
		must(t, netif.In(b.device, func() error {
			link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: outside}, PeerName: inside, PeerNamespace: netlink.NsFd(port)}
			return netlink.LinkAdd(link)
		}))
		addresses := func(name string, host int) func() error {
			return func() error {
				link, err := netlink.LinkByName(name)
				if err != nil {
					return err
				}
				for _, a := range []string{fmt.Sprintf("198.18.%d.%d/24", i+1, host), fmt.Sprintf("2001:2:0:%d::%d/64", i+1, host)} {
					address, err := netlink.ParseAddr(a)
					if err != nil {
						return err
					}
					address.Flags = 0x02 // IFA_F_NODAD
					if err := netlink.AddrAdd(link, address); err != nil {
						return err
					}
				}
				return netlink.LinkSetUp(link)
			}
		}
		must(t, netif.In(b.device, addresses(outside, 1)))
		must(t, netif.In(port, addresses(inside, 2)))
		name := fmt.Sprint("p", i+1)
		b.ports[name] = Port{Namespace: port, Interface: inside}
		b.sessions = append(b.sessions, routing.Session{
			Name: name, Port: name, Local: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 2}), Remote: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 1}),
			LocalASN: 65001 + uint32(i), RemoteASN: 65000, RouterID: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 2}),
			Families: []routing.Family{routing.IPv4Unicast}, HoldTime: 90 * time.Second, Password: "of-" + routing.Secret(name),
			// On a busy machine processes wait for a processor longer than three intervals.
			BFD: &routing.BFD{Interval: 150 * time.Millisecond, Multiplier: 20},
		})
	}
	// A second speaker on the first port, whose address the port lacks, for IPv6.
	six := b.sessions[0]
	six.Name, six.Local, six.LocalASN, six.Families = "p1-2", netip.MustParseAddr("198.18.1.3"), 65003, []routing.Family{routing.IPv6Unicast}
	six.RouterID = six.Local
	b.sessions[1].Families = append(b.sessions[1].Families, routing.IPv6Unicast)
	b.sessions = append(b.sessions, six)
	return b
}

func newNamespace(t *testing.T) netns.NsHandle {
	t.Helper()
	var made netns.NsHandle
	must(t, netif.In(netns.None(), func() (err error) {
		made, err = netns.New()
		return err
	}))
	must(t, netif.In(made, func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	}))
	t.Cleanup(func() { made.Close() })
	return made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRealRouters(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{router.FRR, router.BIRD} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			var config strings.Builder
			must(t, router.Render(&config, kind, router.Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: b.sessions, Passwords: true}))
			d, err := router.Start(t.Context(), b.device, kind, config.String())
			must(t, err)
			t.Cleanup(func() { must(t, d.Stop()) })
			s := New(Options{Ports: b.ports, Retry: 50 * time.Millisecond})
			t.Cleanup(func() { must(t, s.Close()) })
			if err := s.Open(within(t), b.sessions); err != nil {
				t.Fatal(err, d.Err())
			}
			four, six := set("198.18.128.0/24", 100), set("2001:2:100::/48", 2000)
			big := set("16.0.0.0/24", 20_000)
			announce(t, s, "p1", four, big)
			announce(t, s, "p1-2", six)
			want := routing.Readvertised(65000, 65001, []routing.Routes{four, big}).Add(routing.Readvertised(65000, 65003, []routing.Routes{six}))
			awaitTable(t, s, "p2", want)
			withdraw(t, s, "p1", big)
			awaitTable(t, s, "p2", routing.Readvertised(65000, 65001, []routing.Routes{four}).Add(routing.Readvertised(65000, 65003, []routing.Routes{six})))

			before := awaitState(t, s, "p2", func(s routing.State) bool { return s.Established })
			must(t, d.Stop())
			state := awaitState(t, s, "p2", func(s routing.State) bool { return s.Flaps > before.Flaps })
			if !strings.Contains(state.Cause, "device") {
				t.Errorf("the router was stopped: %s", state.Cause)
			}
			t.Log(state.Cause)
		})
	}
}

// FRR passes labeled unicast on, and all paths of a session with add-path.
func TestFRRPassesLabelsAndFurtherPathsOn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sessions = b.sessions[:2]
	for i := range b.sessions {
		b.sessions[i].Families, b.sessions[i].AddPath = []routing.Family{routing.IPv4LabeledUnicast, routing.IPv6Unicast}, true
	}
	var config strings.Builder
	must(t, router.Render(&config, router.FRR, router.Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: b.sessions, Passwords: true}))
	d, err := router.Start(t.Context(), b.device, router.FRR, config.String())
	must(t, err)
	t.Cleanup(func() { must(t, d.Stop()) })
	s := New(Options{Ports: b.ports, Retry: 50 * time.Millisecond})
	t.Cleanup(func() { must(t, s.Close()) })
	if err := s.Open(within(t), b.sessions); err != nil {
		t.Fatal(err, d.Err())
	}
	// Of labeled routes FRR 8.4 at times advertises the preferred path only.
	labeled, short := set("198.18.128.0/24", 100), set("2001:2:100::/48", 100)
	labeled.Attributes.Label, labeled.Attributes.PathID = 1000, 3
	short.Attributes.NextHop, short.Attributes.PathID = netip.MustParseAddr("2001:2:0:1::2"), 1
	long := short
	long.Attributes.ASPath, long.Attributes.PathID = []uint32{64512, 64513, 64514}, 2
	announce(t, s, "p1", labeled, short, long)
	awaitTable(t, s, "p2", routing.Readvertised(65000, 65001, []routing.Routes{labeled, short}).Add(routing.Readvertised(65000, 65001, []routing.Routes{long})))
	withdraw(t, s, "p1", short)
	awaitTable(t, s, "p2", routing.Readvertised(65000, 65001, []routing.Routes{labeled, long}))
}
