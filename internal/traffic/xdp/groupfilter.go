package xdp

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/membership"
)

// groupsInHardware are drivers whose NIC receives frames to groups only after it has their
// addresses, also while it is to receive all, and the number of groups that fit: igbvf
// passes on at most 30 addresses, some of which are the kernel's.
var groupsInHardware = map[string]int{"igbvf": 24}

// listen adds the addresses of groups to those that the NIC receives, or removes them, for
// drivers that need it. The kernel removes them with the socket.
func (p *port) listen(memberships []traffic.Membership, joining bool) error {
	most, needed := groupsInHardware[p.driver]
	if !needed {
		return nil
	}
	m := p.member
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, err := m.socket.SyscallConn()
	if err != nil {
		return fmt.Errorf("listening to groups: %w", err)
	}
	option := unix.PACKET_ADD_MEMBERSHIP
	if !joining {
		option = unix.PACKET_DROP_MEMBERSHIP
	}
	for _, c := range memberships {
		for n := range c.Count {
			mac := membership.MAC(traffic.Above(c.Group, n))
			if m.heard[mac] == joining {
				continue
			}
			if joining && len(m.heard) == most {
				return fmt.Errorf("a NIC with the driver %s receives frames to at most %d groups: join fewer, or use another NIC", p.driver, most)
			}
			address := unix.PacketMreq{Ifindex: int32(p.index), Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(mac))}
			copy(address.Address[:], mac[:])
			if control := raw.Control(func(fd uintptr) { err = unix.SetsockoptPacketMreq(int(fd), unix.SOL_PACKET, option, &address) }); control != nil {
				err = control
			}
			if err != nil {
				return fmt.Errorf("listening to group %v: %w", traffic.Above(c.Group, n), err)
			}
			if joining {
				m.heard[mac] = true
			} else {
				delete(m.heard, mac)
			}
		}
	}
	return nil
}
