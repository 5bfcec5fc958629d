package endpoint

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
)

// Port is the local end of the sessions of a port.
type Port struct {
	// Namespace of the port; 0 or a closed one means that of this process.
	Namespace netns.NsHandle
	// Interface gets the addresses of sessions that it lacks; empty for none.
	Interface string
}

// In runs f in the namespace of the port.
func (p Port) In(f func() error) error {
	ns := p.Namespace
	if ns == 0 { // standard input, and no namespace
		ns = netns.None()
	}
	return netif.In(ns, f)
}

// Address gives the port an address that it lacks, and returns a function that removes it
// again.
func (p Port) Address(a netip.Addr) (undo func() error, err error) {
	if p.Interface == "" {
		return nil, nil
	}
	mask := net.CIDRMask(a.BitLen(), a.BitLen())
	one := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: mask}, Flags: unix.IFA_F_NODAD}
	change := func(do func(netlink.Link) error) error {
		return p.In(func() error {
			link, err := netlink.LinkByName(p.Interface)
			if err != nil {
				return err
			}
			return do(link)
		})
	}
	added := false
	err = change(func(link netlink.Link) error {
		all, err := netif.Addresses(link)
		if err != nil {
			return err
		}
		for _, has := range all {
			if has.IP.Equal(one.IP) {
				return nil
			}
		}
		added = true
		return netlink.AddrAdd(link, one)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("adding the address %v to the interface %s: %w", a, p.Interface, err)
	case !added:
		return nil, nil
	}
	return func() error {
		err := change(func(link netlink.Link) error { return netlink.AddrDel(link, one) })
		if err != nil {
			return fmt.Errorf("removing the address %v from the interface %s: %w", a, p.Interface, err)
		}
		return nil
	}, nil
}
