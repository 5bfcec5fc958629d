package xdp

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// setUp brings the interface up with its addresses, so that the kernel answers
// ARP and neighbor discovery for them.
func (s *interfaceSettings) setUp(nl *netlink.Handle, l netlink.Link) error {
	if err := s.setFeatures(); err != nil {
		return err
	}
	s.turnPauseOff() // before the link is negotiated anew
	if l.Attrs().Flags&net.FlagUp == 0 {
		if err := nl.LinkSetUp(l); err != nil {
			return fmt.Errorf("bringing the interface up: %w", err)
		}
		s.later(func() error { return unlessGone(nl.LinkSetDown(l)) })
	}
	if err := s.hearing.hear(nil); err != nil {
		return err
	}
	for _, prefix := range s.Addresses {
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
			s.later(func() error {
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
func (d *netdev) noteSpeed(megabits uint64) {
	const unknown = 1<<32 - 1
	if d.driver == "veth" || megabits == 0 || megabits == unknown || d.SpeedBitsPerSecond == 0 {
		return
	}
	if real := int64(megabits) * 1e6; real != d.SpeedBitsPerSecond {
		d.notes = append(d.notes, fmt.Sprintf("the link runs at %d Mbit/s; the bed says %d Mbit/s", megabits, d.SpeedBitsPerSecond/1e6))
	}
}

// merging are the features that merge received frames before the receive program sees
// them.
var merging = []string{"rx-lro", "rx-gro-hw"}

// setFeatures finds the driver, and turns off what would keep frames from the receive
// program or change them before.
func (s *interfaceSettings) setFeatures() error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer e.Close()
	if s.driver, err = e.DriverName(s.Interface); err != nil {
		return fmt.Errorf("asking for the driver: %w", err)
	}
	if settings, err := e.CmdGetMapped(s.Interface); err == nil { // not every device has a speed
		s.noteSpeed(settings["speed"])
	}
	if len(s.VLANs) > 0 {
		if err := s.card.TurnOff(slices.Concat(merging, tagFeatures)...); err != nil {
			return err
		}
		return s.hearing.passVLANFilter(s.card)
	}
	return s.card.TurnOff(merging...)
}

// unlessGone drops the error that there is nothing left to give back, because the
// address or the whole interface has been removed.
func unlessGone(err error) error {
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// tagFeatures are the features of a NIC that drop tagged frames, or that insert tags into
// frames which a virtual device then passes on without the tags.
var tagFeatures = []string{"rx-vlan-filter", "rx-vlan-stag-filter", "tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"}

// enterVLAN puts what the kernel sends on the port into the VLAN of its addresses, and
// lets it receive only what comes from there. So the kernel needs no 802.1Q.
func (s *interfaceSettings) enterVLAN(nl *netlink.Handle) error {
	if len(s.VLANs) == 0 {
		return nil
	}
	spec, err := kernel.LoadTag()
	if err != nil {
		return fmt.Errorf("reading the BPF programs for tags: %w", err)
	}
	var etypes, tcis [2]uint16
	for i, v := range s.VLANs {
		etypes[i], tcis[i] = s.VLANs.EtherType(i), v.TCI()
	}
	for name, value := range map[string]any{"tags": uint32(len(s.VLANs)), "etypes": etypes, "tcis": tcis} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	var objects kernel.TagObjects
	if err := spec.LoadAndAssign(&objects, nil); err != nil {
		return fmt.Errorf("loading the BPF programs for tags: %w", err)
	}
	s.later(objects.Close)
	err = s.attachTCX(&objects)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return s.attachClsact(nl, &objects)
	}
	return err
}

// attachTCX attaches the programs for tags by links, which end with the process.
func (s *interfaceSettings) attachTCX(o *kernel.TagObjects) error {
	for _, a := range []struct {
		program *ebpf.Program
		where   ebpf.AttachType
	}{{o.Untag, ebpf.AttachTCXIngress}, {o.Tag, ebpf.AttachTCXEgress}} {
		l, err := attachTCX(link.TCXOptions{Program: a.program, Interface: s.index, Attach: a.where})
		if err != nil {
			return fmt.Errorf("attaching the BPF programs for tags: %w", err)
		}
		s.later(l.Close)
	}
	return nil
}

// attachTCX is a variable for tests of kernels before 6.6.
var attachTCX = link.AttachTCX

// attachClsact attaches the programs for tags by filters, on kernels before 6.6.
func (s *interfaceSettings) attachClsact(nl *netlink.Handle, o *kernel.TagObjects) error {
	if err := netif.AttachClsact(nl, s.index, o.Untag.FD(), o.Tag.FD()); err != nil {
		return fmt.Errorf("the port is in %v, and Linux %s cannot tag what it sends there, such as ARP: that takes Linux 6.6 (TCX), or the modules sch_ingress and cls_bpf (modprobe -a sch_ingress cls_bpf): %w", s.VLANs, netif.KernelRelease(), err)
	}
	s.later(func() error {
		_, err := netif.DetachClsact(nl, s.index)
		return err
	})
	return nil
}
