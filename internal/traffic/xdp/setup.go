package xdp

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// setUp brings the interface up with its addresses, so that the kernel answers
// ARP and neighbor discovery for them.
func (p *port) setUp(nl *netlink.Handle, l netlink.Link) error {
	if err := p.setFeatures(); err != nil {
		return err
	}
	p.turnPauseOff() // before the link is negotiated anew
	if l.Attrs().Flags&net.FlagUp == 0 {
		if err := nl.LinkSetUp(l); err != nil {
			return fmt.Errorf("bringing the interface up: %w", err)
		}
		p.undo = append(p.undo, func() error { return unlessGone(nl.LinkSetDown(l)) })
	}
	if err := p.hear(nil); err != nil {
		return err
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
				if err := unlessGone(nl.AddrDel(l, a)); err != nil {
					return fmt.Errorf("removing address %v: %w", prefix, err)
				}
				return nil
			})
		}
	}
	return nil
}

// noteSpeed notes that the link runs at another speed than the bed says. A veth
// has no speed of its own, and tells 10 Gbit/s.
func (p *port) noteSpeed(megabits uint64) {
	const unknown = 1<<32 - 1
	if p.driver == "veth" || megabits == 0 || megabits == unknown || p.SpeedBitsPerSecond == 0 {
		return
	}
	if real := int64(megabits) * 1e6; real != p.SpeedBitsPerSecond {
		p.notes = append(p.notes, fmt.Sprintf("the link runs at %d Mbit/s; the bed says %d Mbit/s", megabits, p.SpeedBitsPerSecond/1e6))
	}
}

// merging are the features that merge received frames before the receive program sees
// them.
var merging = []string{"rx-lro", "rx-gro-hw"}

// setFeatures finds the driver, and turns off what would keep frames from the receive
// program or change them before.
func (p *port) setFeatures() error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer e.Close()
	if p.driver, err = e.DriverName(p.Interface); err != nil {
		return fmt.Errorf("asking for the driver: %w", err)
	}
	if settings, err := e.CmdGetMapped(p.Interface); err == nil { // not every device has a speed
		p.noteSpeed(settings["speed"])
	}
	if len(p.VLANs) > 0 {
		if err := p.card.TurnOff(slices.Concat(merging, tagFeatures)...); err != nil {
			return err
		}
		return p.passVLANFilter()
	}
	return p.card.TurnOff(merging...)
}

// unlessGone drops the error that there is nothing left to give back, because the
// address or the whole interface has been removed.
func unlessGone(err error) error {
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
