//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
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

// boundSockets returns the sockets of the calling thread's network namespace that are
// bound to an address. It reads /proc: the kernel's socket diagnosis needs modules
// (tcp_diag, udp_diag), which a minimal system does not load.
func boundSockets() ([]socket, error) {
	proc, err := procfs.NewFS("/proc/thread-self")
	if err != nil {
		return nil, fmt.Errorf("opening /proc/thread-self: %w", err)
	}
	var all []socket
	add := func(protocol string, local net.IP, port uint64, remote net.IP, remotePort, state uint64) {
		from, _ := netip.AddrFromSlice(local)
		to, _ := netip.AddrFromSlice(remote)
		if from = from.Unmap(); from.IsValid() && !from.IsUnspecified() && state != tcpTimeWait {
			all = append(all, socket{protocol, netip.AddrPortFrom(from, uint16(port)), netip.AddrPortFrom(to.Unmap(), uint16(remotePort))})
		}
	}
	for _, list := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		sockets, err := list()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 has no tcp6
			return nil, fmt.Errorf("listing the TCP sockets: %w", err)
		}
		for _, s := range sockets {
			add("TCP", s.LocalAddr, s.LocalPort, s.RemAddr, s.RemPort, s.St)
		}
	}
	for _, list := range []func() (procfs.NetUDP, error){proc.NetUDP, proc.NetUDP6} {
		sockets, err := list()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing the UDP sockets: %w", err)
		}
		for _, s := range sockets {
			add("UDP", s.LocalAddr, s.LocalPort, s.RemAddr, s.RemPort, s.St)
		}
	}
	return all, nil
}

// tcpTimeWait is the state of a connection that has ended.
const tcpTimeWait = 6

// addressInUse refuses an interface with an address that a socket is bound to.
func addressInUse(s *scene, l netlink.Link) (string, error) {
	addresses, err := netif.Addresses(l)
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
