package bgpbench

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/routing"
)

const deviceASN = 65000

// bed is the namespace of the device with those of the two ports of the tester. It ends
// with the processes in it and the handles.
type bed struct {
	device, injector, receiver netns.NsHandle
	// sessions of injector and receiver.
	sessions [2]routing.Session
}

func newBed() (*bed, error) {
	b := &bed{device: netns.None(), injector: netns.None(), receiver: netns.None()}
	for _, ns := range []*netns.NsHandle{&b.device, &b.injector, &b.receiver} {
		if err := netif.In(netns.None(), func() (err error) { *ns, err = netns.New(); return err }); err != nil {
			return b, fmt.Errorf("making a network namespace: %w", err)
		}
	}
	for i, port := range []netns.NsHandle{b.injector, b.receiver} {
		inside, outside := fmt.Sprint("t", i+1), fmt.Sprint("d", i+1)
		if err := netif.In(b.device, func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: outside}, PeerName: inside, PeerNamespace: netlink.NsFd(port)})
		}); err != nil {
			return b, fmt.Errorf("laying a cable: %w", err)
		}
		for name, ns := range map[string]netns.NsHandle{outside: b.device, inside: port} {
			host := 1
			if ns == port {
				host = 2
			}
			if err := netif.In(ns, func() error { return addresses(name, i+1, host) }); err != nil {
				return b, fmt.Errorf("addresses of %s: %w", name, err)
			}
		}
		b.sessions[i] = routing.Session{
			Name: fmt.Sprint("p", i+1), Port: "p",
			Local: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 2}), Remote: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 1}),
			LocalASN: 65001 + uint32(i), RemoteASN: deviceASN, RouterID: netip.AddrFrom4([4]byte{198, 18, byte(i + 1), 2}),
			Families: []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast}, HoldTime: 90 * time.Second,
		}
	}
	return b, nil
}

func addresses(name string, net, host int) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, a := range []string{fmt.Sprintf("198.18.%d.%d/24", net, host), fmt.Sprintf("2001:2:0:%d::%d/64", net, host)} {
		address, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		address.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(link, address); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(link)
}

func (b *bed) close() {
	for _, ns := range []*netns.NsHandle{&b.device, &b.injector, &b.receiver} {
		if ns.IsOpen() {
			ns.Close()
		}
	}
}
