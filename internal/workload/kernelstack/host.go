package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// hostInterface is the name of the interface of each host.
const hostInterface = "host0"

// host is a network namespace with an interface on a port.
type host struct {
	ns      netns.NsHandle
	address netip.Addr
	port    string
}

// newHost makes a host on a port. Its mode decides whether hosts of a port reach each other.
func (e *Engine) newHost(ctx context.Context, p workload.Port, address netip.Addr, mtu int, mode netlink.MacvlanMode) (h *host, err error) {
	h = &host{ns: netns.None(), address: address, port: p.Name}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("making host %s on port %s: %w", address, p.Name, err), h.close())
			h = nil
		}
	}()
	err = inNewNamespace(func() (err error) {
		h.ns, err = netns.Get()
		return err
	})
	if err != nil {
		return h, err
	}
	near, err := netlink.NewHandleAt(e.tester, unix.NETLINK_ROUTE)
	if err != nil {
		return h, err
	}
	defer near.Close()
	parent, err := near.LinkByName(p.Interface)
	if err != nil {
		return h, fmt.Errorf("looking for interface %s: %w", p.Interface, err)
	}
	if has := parent.Attrs().MTU; has < mtu {
		return h, fmt.Errorf("interface %s has an MTU of %d bytes, and the test asks for %d: raise the MTU of the interface, or lower mtu of the test", p.Interface, has, mtu)
	}
	link := &netlink.Macvlan{
		LinkAttrs: netlink.LinkAttrs{Name: hostInterface, ParentIndex: parent.Attrs().Index, MTU: mtu, HardwareAddr: hardwareAddress(address), Namespace: netlink.NsFd(h.ns)},
		Mode:      mode,
		// Hosts get multicast from a queue of the port. It holds 1,000 packets by default.
		BCQueueLen: 1 << 16,
	}
	if err := near.LinkAdd(link); err != nil {
		return h, fmt.Errorf("making an interface on %s: %w", p.Interface, err)
	}
	return h, netif.In(h.ns, func() error { return h.setUp(ctx, p) })
}

// inNewNamespace runs f in a network namespace that it makes.
func inNewNamespace(f func() error) error {
	return netif.In(netns.None(), func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		return f()
	})
}

// newHosts makes hosts on a port that do not reach each other, with addresses that are not used yet, and returns the ones that it
// has made also after an error.
func (e *Engine) newHosts(ctx context.Context, port string, n, mtu int, used map[netip.Addr]bool) ([]*host, error) {
	return e.newHostsIn(ctx, netlink.MACVLAN_MODE_PRIVATE, port, n, mtu, used)
}

// newHostsIn makes hosts in a mode.
func (e *Engine) newHostsIn(ctx context.Context, mode netlink.MacvlanMode, port string, n, mtu int, used map[netip.Addr]bool) (all []*host, _ error) {
	p, known := e.ports[port]
	if !known {
		return nil, fmt.Errorf("port %s is not known", port)
	}
	free, err := e.addresses(p, n, used)
	if err != nil {
		return nil, err
	}
	for _, address := range free {
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		h, err := e.newHost(ctx, p, address, mtu, mode)
		if err != nil {
			return all, err
		}
		all = append(all, h)
	}
	return all, nil
}

// hardwareAddress returns the locally administered address of a host: the device may remember it from the
// host that had the address before.
func hardwareAddress(a netip.Addr) net.HardwareAddr {
	return append(net.HardwareAddr{0x02, 0x4e}, a.AsSlice()...)
}

// noAddress is the mode of an interface that makes no IPv6 address of its own (IN6_ADDR_GEN_MODE_NONE of the kernel).
const noAddress = 1

// setUp gives a host its address and its route. It sends nothing of IPv6. It needs no file of /proc/sys, which containers may not write.
func (h *host) setUp(ctx context.Context, p workload.Port) error {
	link, err := netlink.LinkByName(hostInterface)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetIP6AddrGenMode(link, noAddress); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("keeping it from making an IPv6 address: %w", err)
	}
	mask := net.CIDRMask(p.Address.Bits(), 32)
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: h.address.AsSlice(), Mask: mask}}); err != nil {
		return fmt.Errorf("giving it the address: %w", err)
	}
	if err := bringUp(ctx, link); err != nil {
		return fmt.Errorf("bringing it up: %w", err)
	}
	// Without a gateway all ports are one network, whatever the lengths of their networks are.
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Scope: netlink.SCOPE_LINK}
	if p.Gateway.IsValid() {
		route.Gw, route.Scope = p.Gateway.AsSlice(), netlink.SCOPE_UNIVERSE
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("giving it a route: %w", err)
	}
	return nil
}

// goneWithin bounds the wait for a host with the same address. The kernel removes hosts of a process that was killed a while
// after its end.
const goneWithin = 10 * time.Second

// bringUp brings an interface up once no other host of the port has its hardware address.
func bringUp(ctx context.Context, link netlink.Link) error {
	bounded, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	for {
		err := netlink.LinkSetUp(link)
		if !errors.Is(err, unix.EADDRINUSE) {
			return err
		}
		select {
		case <-bounded.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("another host of the port has the hardware address %s: end the program that made it: %w", link.Attrs().HardwareAddr, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// close removes the host: its interface goes with the namespace.
func (h *host) close() error {
	if h == nil || !h.ns.IsOpen() {
		return nil
	}
	// The kernel removes namespaces later, and the next hosts may want the same addresses at once.
	err := netif.In(h.ns, func() error {
		link, err := netlink.LinkByName(hostInterface)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return nil
		}
		if err == nil {
			err = netlink.LinkDel(link)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("removing host %s on port %s: %w", h.address, h.port, err)
	}
	return errors.Join(err, h.ns.Close())
}
