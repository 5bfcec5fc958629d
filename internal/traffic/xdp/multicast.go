package xdp

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/membership"
)

// maxGroups is the most groups of one membership: the engine remembers each.
const maxGroups = 1 << 16

// Join implements traffic.GroupMember. The moment of a port is just before its
// first report leaves, so that no frame that a report brought was earlier.
func (e *Engine) Join(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	return e.tell(ctx, true, memberships, (*membership.Groups).Join)
}

// Leave implements traffic.GroupMember. Leaving what was not joined is reported to
// the device too, and does no harm.
func (e *Engine) Leave(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	return e.tell(ctx, false, memberships, (*membership.Groups).Leave)
}

// tell changes memberships, and sends the reports of all ports one after the
// other. They are all made before, so that little time passes between them.
func (e *Engine) tell(ctx context.Context, joining bool, memberships []traffic.Membership, change func(*membership.Groups, netip.Addr, netip.Addr) membership.Record) (traffic.Moments, error) {
	doing := "leaving"
	if joining {
		doing = "joining"
	}
	for _, m := range memberships {
		if err := e.ports.checkMembership(m); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
	}
	reports := make([][][]byte, len(e.ports))
	for i, p := range e.ports {
		var own []traffic.Membership
		for _, m := range memberships {
			if m.Port == p.Name {
				own = append(own, m)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := e.netns.Do(func() error { return p.beMember(ctx, e.netlink) }); err != nil {
			return nil, err
		}
		if err := p.member.listen(&p.netdev, own, joining); err != nil {
			return nil, fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
		}
		reports[i] = p.member.change(own, change)
	}
	at := traffic.Moments{}
	for i, frames := range reports {
		if len(frames) == 0 {
			continue
		}
		p := e.ports[i]
		at[p.Name] = uint64(monotonic())
		if err := p.member.send(ctx, frames); err != nil {
			return nil, fmt.Errorf("%s multicast groups on %s (%s): %w", doing, p.Name, p.Interface, err)
		}
	}
	return at, nil
}

// groupsInHardware are drivers whose NIC receives frames to groups only after it has their
// addresses, also while it is to receive all, and the number of groups that fit: igbvf
// passes on at most 30 addresses, some of which are the kernel's.
var groupsInHardware = map[string]int{"igbvf": 24}

// listen adds the addresses of groups to those that the NIC receives, or removes them, for
// drivers of the interface that need it. The kernel removes them with the socket.
func (m *member) listen(d *netdev, memberships []traffic.Membership, joining bool) error {
	most, needed := groupsInHardware[d.driver]
	if !needed {
		return nil
	}
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
				return fmt.Errorf("a NIC with the driver %s receives frames to at most %d groups: join fewer, or use another NIC", d.driver, most)
			}
			address := unix.PacketMreq{Ifindex: int32(d.index), Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(mac))}
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
