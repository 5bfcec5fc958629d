package hostdevice

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// routeRA is the protocol of routes that routers advertise.
const routeRA = unix.RTPROT_RA

// socket is bound to an address.
type socket struct {
	protocol      string
	local, remote netip.AddrPort
}

func (s socket) String() string {
	if s.remote.Port() == 0 {
		return fmt.Sprintf("a %s socket is bound to %v", s.protocol, s.local)
	}
	return fmt.Sprintf("a %s connection from %v to %v is open", s.protocol, s.local, s.remote)
}

// boundSockets are those of the calling thread's network namespace that use one address.
func boundSockets() ([]socket, error) {
	var all []socket
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		for _, kind := range []struct {
			protocol string
			list     func(uint8) ([]*netlink.Socket, error)
		}{{"TCP", netlink.SocketDiagTCP}, {"UDP", netlink.SocketDiagUDP}} {
			sockets, err := kind.list(family)
			if err != nil {
				return nil, fmt.Errorf("listing the %s sockets: %w", kind.protocol, err)
			}
			for _, s := range sockets {
				local, _ := netip.AddrFromSlice(s.ID.Source)
				remote, _ := netip.AddrFromSlice(s.ID.Destination)
				if local = local.Unmap(); !local.IsValid() || local.IsUnspecified() || s.State == tcpTimeWait {
					continue
				}
				all = append(all, socket{kind.protocol, netip.AddrPortFrom(local, s.ID.SourcePort), netip.AddrPortFrom(remote.Unmap(), s.ID.DestinationPort)})
			}
		}
	}
	return all, nil
}

// tcpTimeWait is the state of a connection that has ended.
const tcpTimeWait = 6

// addressInUse refuses an interface with an address that a socket is bound to.
func addressInUse(s *scene, l netlink.Link) (string, error) {
	addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return "", fmt.Errorf("listing the addresses: %w", err)
	}
	for _, a := range addresses {
		for _, socket := range s.sockets {
			if prefixOf(a.IPNet).Addr() == socket.local.Addr() && !socket.local.Addr().IsLinkLocalUnicast() {
				return fmt.Sprintf("its address %v is in use (%s): end what uses it", a.IPNet, socket) + another, nil
			}
		}
	}
	return "", nil
}
