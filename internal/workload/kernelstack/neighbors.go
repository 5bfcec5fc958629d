package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/netif"
)

const (
	// neighborTime is the time in which neighbors of hosts answer.
	neighborTime = 5 * time.Second
	// neighborPause is the time between two looks at the neighbors.
	neighborPause = 10 * time.Millisecond
)

// resolveAll lets hosts ask for the hardware addresses of their gateways, or of each other without one. The gateways know
// the hosts then, too. No IP packet is sent, so that the device has no state of it.
func (e *Engine) resolveAll(ctx context.Context, clients, servers []*host) error {
	ctx, cancel := context.WithTimeout(ctx, neighborTime)
	defer cancel()
	for _, sides := range [][2][]*host{{clients, servers}, {servers, clients}} {
		for _, h := range sides[0] {
			var wanted []netip.Addr
			for _, other := range sides[1] {
				wanted = append(wanted, other.address)
			}
			if gateway := e.ports[h.port].Gateway; gateway.IsValid() {
				wanted = []netip.Addr{gateway}
			}
			if err := netif.In(h.ns, func() error { return resolve(ctx, wanted) }); err != nil {
				return fmt.Errorf("host %s on port %s: %w", h.address, h.port, err)
			}
		}
	}
	return nil
}

// resolve asks for hardware addresses, and waits for the answers.
func resolve(ctx context.Context, wanted []netip.Addr) error {
	link, err := netlink.LinkByName(hostInterface)
	if err != nil {
		return err
	}
	index := link.Attrs().Index
	for _, a := range wanted {
		one := &netlink.Neigh{LinkIndex: index, Family: netlink.FAMILY_V4, IP: net.IP(a.AsSlice()), State: netlink.NUD_NONE, Flags: netlink.NTF_USE}
		if err := netlink.NeighSet(one); err != nil {
			return fmt.Errorf("asking for the hardware address of %s: %w", a, err)
		}
	}
	for {
		known, err := netif.Whole(func() ([]netlink.Neigh, error) { return netlink.NeighList(index, netlink.FAMILY_V4) })
		if err != nil {
			return fmt.Errorf("reading neighbors: %w", err)
		}
		missing := slices.DeleteFunc(slices.Clone(wanted), func(a netip.Addr) bool {
			return slices.ContainsFunc(known, func(n netlink.Neigh) bool {
				return n.IP.Equal(a.AsSlice()) && n.State&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|netlink.NUD_PROBE|netlink.NUD_PERMANENT) != 0
			})
		})
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s does not answer ARP requests: check the addresses and gateways of the ports, and the device", missing[0])
			}
			return context.Cause(ctx)
		case <-time.After(neighborPause):
		}
	}
}
