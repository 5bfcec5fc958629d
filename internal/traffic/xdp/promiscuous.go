package xdp

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// hearing decides whether a port receives frames to all addresses, or to its own only.
type hearing struct {
	*netdev
	// promiscuous is the socket that makes the port hear all addresses; 0 for none.
	promiscuous int
	// filtersVLANs means that the NIC drops frames of the port's VLAN unless it is
	// promiscuous.
	filtersVLANs bool
}

// strange reports whether frames of a stream arrive at the port under addresses
// that are not its own, which a NIC would drop: ranges of addresses, groups, and
// what no router readdresses on its way.
func (h *hearing) strange(s traffic.Stream) bool {
	to := s.Headers
	switch {
	case to.DstMACCount > 1:
		return true
	case to.DstMAC == h.mac || to.DstMAC == broadcast:
		return false
	}
	return to.DstMAC[0]&1 != 0 || !to.DstIP.IsValid()
}

var broadcast = traffic.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// hear makes the port receive frames to all addresses while a stream or the VLAN of the
// port needs that.
// The kernel counts who wants it, and gives it back when the socket closes, also
// by the death of this process.
func (h *hearing) hear(streams []traffic.Stream) error {
	needed := h.filtersVLANs
	for _, s := range streams {
		needed = needed || h.strange(s)
	}
	if needed == (h.promiscuous != 0) {
		return nil
	}
	if !needed {
		return h.hearOwn()
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a packet socket: %w", err)
	}
	m := unix.PacketMreq{Ifindex: int32(h.index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); err != nil {
		unix.Close(fd)
		return fmt.Errorf("making the port promiscuous, for frames to addresses or in VLANs that are not its own: %w", err)
	}
	h.promiscuous = fd
	return nil
}

// hearOwn makes the port receive only frames to its own addresses again.
func (h *hearing) hearOwn() error {
	fd := h.promiscuous
	h.promiscuous = 0
	if fd == 0 {
		return nil
	}
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("ending the promiscuous mode: %w", err)
	}
	return nil
}

// vlanFilters are features of a NIC that drop frames of VLANs which the kernel has not
// registered.
var vlanFilters = []string{"rx-vlan-filter", "rx-vlan-stag-filter"}

// filtersAlways are drivers whose NIC filters VLANs also while it is promiscuous.
var filtersAlways = map[string]string{
	"igbvf": "leave vlan out of the port and of the profile, and let the physical function tag (ip link set dev PF vf N vlan ID)",
}

// vlanRefusal returns the reason why a port cannot be in VLANs while its NIC filters them,
// or nil.
func vlanRefusal(driver string, vlans frame.VLANs) error {
	remedy, refuses := filtersAlways[driver]
	if !refuses {
		return nil
	}
	return fmt.Errorf("the port is in %v, and a NIC with the driver %s drops frames of VLANs that the kernel has not registered, also in promiscuous mode: %s", vlans, driver, remedy)
}

// passVLANFilter finds out whether the NIC has a filter of VLANs that cannot be turned off.
// Drivers turn such a filter off while the interface is promiscuous.
func (h *hearing) passVLANFilter(c *card.Held) error {
	on, err := c.On(vlanFilters...)
	if err != nil || len(on) == 0 {
		return err
	}
	h.filtersVLANs = true
	return vlanRefusal(h.driver, h.VLANs)
}
