package xdp

import (
	"errors"
	"fmt"
	"net"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// setUp brings the interface up with its addresses, so that the kernel answers
// ARP and neighbour discovery for them.
func (p *port) setUp(nl *netlink.Handle, l netlink.Link) error {
	if err := p.setFeatures(); err != nil {
		return err
	}
	if l.Attrs().Flags&net.FlagUp == 0 {
		if err := nl.LinkSetUp(l); err != nil {
			return fmt.Errorf("bringing the interface up: %w", err)
		}
		p.undo = append(p.undo, func() error { return nl.LinkSetDown(l) })
	}
	for _, prefix := range p.Addresses {
		a := &netlink.Addr{IPNet: &net.IPNet{
			IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
		}}
		if prefix.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD // or the address would not answer for a second
		}
		switch err := nl.AddrAdd(l, a); {
		case errors.Is(err, unix.EEXIST):
		case err != nil:
			return fmt.Errorf("adding address %v: %w", prefix, err)
		default:
			p.undo = append(p.undo, func() error {
				if err := nl.AddrDel(l, a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
					return fmt.Errorf("removing address %v: %w", prefix, err)
				}
				return nil
			})
		}
	}
	return nil
}

// setFeatures finds the driver, and turns off what would merge received frames
// before the receive program sees them.
func (p *port) setFeatures() error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer e.Close()
	if p.driver, err = e.DriverName(p.Interface); err != nil {
		return fmt.Errorf("asking for the driver: %w", err)
	}
	have, err := e.FeaturesWithState(p.Interface)
	if err != nil {
		return fmt.Errorf("reading the offloads: %w", err)
	}
	for _, name := range []string{"rx-lro", "rx-gro-hw"} {
		if f, ok := have[name]; !ok || !f.Active || f.NeverChanged {
			continue
		}
		if err := e.Change(p.Interface, map[string]bool{name: false}); err != nil {
			return fmt.Errorf("turning off %s: %w", name, err)
		}
		p.undo = append(p.undo, func() error {
			e, err := ethtool.NewEthtool()
			if err != nil {
				return fmt.Errorf("opening ethtool: %w", err)
			}
			defer e.Close()
			return e.Change(p.Interface, map[string]bool{name: true})
		})
	}
	return nil
}
