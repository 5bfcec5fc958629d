//go:build linux

package router

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/routing"
)

// AddKernelRoutes adds routes to networks over a next hop to the kernel of a namespace. A router
// that is started there takes them as its own. They remain until the namespace ends. Routes of
// FRR's staticd would take a time that grows with the square of their number.
func AddKernelRoutes(ns netns.NsHandle, networks routing.Routes, via netip.Addr) error {
	return netif.In(ns, func() error {
		for i := range networks.Count {
			p := networks.Prefix(i)
			to := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
			if err := netlink.RouteReplace(&netlink.Route{Dst: to, Gw: via.AsSlice()}); err != nil {
				return fmt.Errorf("adding a route to %v over %v: %w", p, via, err)
			}
		}
		return nil
	})
}
