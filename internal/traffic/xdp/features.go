package xdp

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/netif"
)

// Of the kernel's generic netlink family "netdev" (linux/netdev.h).
const (
	netdevFamily      = "netdev"
	netdevDevGet      = 1
	netdevIfindex     = 1
	netdevXDPFeatures = 3
	netdevTakesFrames = 1 << 2 // NETDEV_XDP_ACT_NDO_XMIT
)

// takesFrames reports whether an interface takes XDP frames at the moment. That
// changes: a veth does while its peer has an XDP program or GRO. Kernels before
// 6.3 cannot be asked; there it is tried.
func takesFrames(index int) (bool, error) {
	family, err := netif.Generic(netdevFamily)
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	replies, err := family.Ask(netdevDevGet, nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(index))))
	if err != nil {
		return false, fmt.Errorf("asking for the interface's XDP features: %w", err)
	}
	for _, reply := range replies {
		attributes, err := nl.ParseRouteAttr(reply)
		if err != nil {
			return false, fmt.Errorf("reading the interface's XDP features: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type&nl.NLA_TYPE_MASK == netdevXDPFeatures && len(a.Value) == 8 {
				return nl.NativeEndian().Uint64(a.Value)&netdevTakesFrames != 0, nil
			}
		}
	}
	return false, errors.New("the kernel did not tell the interface's XDP features")
}
