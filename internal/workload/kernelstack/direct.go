package kernelstack

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// directNetwork is the network of the hosts on a direct link. No other network reaches it.
var directNetwork = netip.MustParsePrefix("198.19.255.248/29")

// directClient and directServer are the names of the ends of a direct link.
const directClient, directServer = "direct1", "direct2"

// direct is a link between two hosts in place of the device: a veth pair as the ports have, in a network namespace
// of its own.
type direct struct {
	engine   *Engine
	attached []link.Link
}

// newDirect makes a direct link between hosts, if the ports are veths. It is nil with a reason where it would not be like the
// links of the ports.
func (e *Engine) newDirect(r workload.RPCRequest) (d *direct, reason string, err error) {
	var received []*netlink.LinkXdp
	mtu := 0
	err = netif.In(e.tester, func() error {
		for _, name := range []string{r.Client, r.Server} {
			l, err := netlink.LinkByName(e.ports[name].Interface)
			if err != nil {
				return fmt.Errorf("looking for interface %s: %w", e.ports[name].Interface, err)
			}
			if l.Type() != "veth" {
				reason = fmt.Sprintf("the interface of port %s is no virtual Ethernet pair, so that no pair can be in place of the device: measure without the device, with a cable between the ports", name)
			}
			received, mtu = append(received, l.Attrs().Xdp), max(mtu, l.Attrs().MTU)
		}
		return nil
	})
	if err != nil || reason != "" {
		return nil, reason, err
	}
	d = &direct{}
	err = inNewNamespace(func() error { return d.setUp(mtu, received) })
	if err != nil {
		return nil, "", errors.Join(err, d.close())
	}
	return d, "", nil
}

// setUp makes the link in the namespace of the calling thread. Its ends receive as the ports do: by XDP where a program
// is attached to them.
func (d *direct) setUp(mtu int, received []*netlink.LinkXdp) (err error) {
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: directClient, MTU: mtu}, PeerName: directServer, PeerMTU: uint32(mtu)}); err != nil {
		return fmt.Errorf("making a pair of interfaces: %w", err)
	}
	var ports []workload.Port
	for i, name := range []string{directClient, directServer} {
		ports = append(ports, workload.Port{Name: name, Interface: name, Address: directNetwork})
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return fmt.Errorf("bringing %s up: %w", name, err)
		}
		if received[i] != nil && received[i].Attached {
			if err := d.pass(l.Attrs().Index); err != nil {
				return fmt.Errorf("attaching a program to %s: %w", name, err)
			}
		}
	}
	d.engine, err = New(ports)
	return err
}

// pass attaches a program that passes all frames (XDP_PASS) to an interface.
func (d *direct) pass(index int) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "Dual MIT/GPL", Flags: unix.BPF_F_XDP_HAS_FRAGS,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
	})
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: index, Flags: link.XDPDriverMode})
	if err == nil {
		d.attached = append(d.attached, l)
	}
	return err
}

// close removes the link with its namespace.
func (d *direct) close() (err error) {
	if d == nil {
		return nil
	}
	for _, l := range d.attached {
		err = errors.Join(err, l.Close())
	}
	if d.engine != nil {
		err = errors.Join(err, d.engine.Close())
	}
	return err
}
