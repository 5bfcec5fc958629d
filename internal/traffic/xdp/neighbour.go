package xdp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// answered are the states in which a neighbor's address can be used.
	answered = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE | netlink.NUD_PERMANENT | netlink.NUD_NOARP
	// discard is the port of RFC 863: what is sent there needs no answer.
	discard = 9
)

// Resolve implements traffic.Generator. The kernel asks, and is asked again
// whenever it gives up, until ctx ends.
func (e *Engine) Resolve(ctx context.Context, portName string, addr netip.Addr) (traffic.MAC, error) {
	p := e.ports.named(portName)
	if p == nil {
		return traffic.MAC{}, fmt.Errorf("port %s is not one of this engine", portName)
	}
	if other := e.ports.holder(addr); other != nil {
		// Both ends are ours, back to back or through a bridge; the kernel would
		// not ask itself.
		return other.mac, nil
	}
	var mac traffic.MAC
	err := e.netns.Do(func() (err error) {
		mac, err = p.resolve(ctx, e.netlink, addr)
		return err
	})
	return mac, err
}

func (d *netdev) resolve(ctx context.Context, nl *netlink.Handle, addr netip.Addr) (traffic.MAC, error) {
	if err := d.waitLink(ctx, nl); err != nil {
		return traffic.MAC{}, err
	}
	if err := d.forget(nl, addr); err != nil {
		return traffic.MAC{}, err
	}
	done, events := make(chan struct{}), make(chan netlink.NeighUpdate, 64)
	defer unsubscribe(done, events)
	if err := netlink.NeighSubscribeWithOptions(events, done, netlink.NeighSubscribeOptions{ListExisting: true}); err != nil {
		return traffic.MAC{}, fmt.Errorf("watching the neighbor table: %w", err)
	}
	if err := d.solicit(nl, addr); err != nil {
		return traffic.MAC{}, fmt.Errorf("asking for %v on %s (%s): %w", addr, d.Name, d.Interface, err)
	}
	for {
		select {
		case <-ctx.Done():
			return traffic.MAC{}, &traffic.UnresolvedError{Port: d.Name, Addr: addr}
		case u, ok := <-events:
			if !ok {
				return traffic.MAC{}, fmt.Errorf("watching the neighbor table: the kernel ended it")
			}
			if got, _ := netip.AddrFromSlice(u.IP); u.LinkIndex != d.index || got.Unmap() != addr {
				continue
			}
			switch {
			case u.Type == unix.RTM_NEWNEIGH && u.State&answered != 0 && len(u.HardwareAddr) == 6:
				return traffic.MAC(u.HardwareAddr), nil
			case u.Type == unix.RTM_DELNEIGH || u.State&netlink.NUD_FAILED != 0:
				if err := d.solicit(nl, addr); err != nil {
					return traffic.MAC{}, fmt.Errorf("asking again for %v on %s (%s): %w", addr, d.Name, d.Interface, err)
				}
			}
		}
	}
}

// forget removes what the kernel has learned of a neighbor: the device may have been configured or restarted since.
// An entry that a person made stays.
func (d *netdev) forget(nl *netlink.Handle, addr netip.Addr) error {
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	known, err := netif.Whole(func() ([]netlink.Neigh, error) { return nl.NeighList(d.index, family) })
	if err != nil {
		return fmt.Errorf("reading the neighbor table: %w", err)
	}
	for i := range known {
		got, _ := netip.AddrFromSlice(known[i].IP)
		if got.Unmap() != addr || known[i].State&(netlink.NUD_PERMANENT|netlink.NUD_NOARP) != 0 {
			continue
		}
		if err := nl.NeighDel(&known[i]); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("forgetting neighbor %v on %s (%s): %w", addr, d.Name, d.Interface, err)
		}
	}
	return nil
}

// solicit makes the kernel ask for a neighbor, unless it knows it.
func (d *netdev) solicit(nl *netlink.Handle, addr netip.Addr) error {
	if addr.Is6() {
		// A neighbor entry alone would be asked for from a link-local address,
		// which is not there yet on an interface that has just come up; a datagram
		// is asked for from the address that it is sent from.
		return d.sendDatagram(addr)
	}
	return nl.NeighSet(&netlink.Neigh{
		LinkIndex: d.index, IP: net.IP(addr.AsSlice()), State: netlink.NUD_NONE, Flags: netlink.NTF_USE,
	})
}

// sendDatagram sends one byte out of the port.
func (d *netdev) sendDatagram(addr netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.BindToDevice(fd, d.Interface); err != nil {
		return fmt.Errorf("binding a socket to the interface: %w", err)
	}
	if err := unix.Sendto(fd, []byte{0}, 0, &unix.SockaddrInet6{Port: discard, Addr: addr.As16(), ZoneId: uint32(d.index)}); err != nil {
		return fmt.Errorf("sending a datagram (is there an address of its prefix on the port?): %w", err)
	}
	return nil
}
