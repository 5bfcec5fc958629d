package xdp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/membership"
)

// member is a port as a member of multicast groups. It sends reports as frames
// of its own making, so that one moment belongs to each, and answers the
// device's queries as long as it is open.
type member struct {
	host   membership.Host
	socket *os.File
	done   chan struct{}

	mu     sync.Mutex
	groups membership.Groups
	// heard are the addresses of groups that the NIC has, where it needs them.
	heard map[traffic.MAC]bool
}

// reportTimeout bounds the sending of all reports of one call: a port whose ring
// stays full for so long does not send.
const reportTimeout = 5 * time.Second

// beMember opens the port's membership socket, if it has none. It runs in the
// namespace of the ports.
func (p *port) beMember(ctx context.Context, nl *netlink.Handle) error {
	if err := p.waitLink(ctx, nl); err != nil {
		return err
	}
	if p.member != nil {
		return nil
	}
	m := &member{host: membership.Host{MAC: p.mac, MTU: p.mtu, VLANs: p.VLANs}, done: make(chan struct{}), heard: map[traffic.MAC]bool{}}
	for _, prefix := range p.Addresses {
		if prefix.Addr().Is4() && !m.host.IPv4.IsValid() {
			m.host.IPv4 = prefix.Addr()
		}
	}
	fd, err := membershipSocket(p.index, queries(p.VLANs))
	if err != nil {
		return fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
	}
	m.socket = os.NewFile(uintptr(fd), "memberships of "+p.Interface)
	go m.answer()
	p.member = m
	return nil
}

// leaveAll leaves all groups, and closes the membership socket. A port that never was a
// member has none.
func (m *member) leaveAll() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	reports := m.host.Reports(m.groups.LeaveAll())
	m.mu.Unlock()
	err := m.send(context.Background(), reports)
	switch {
	case errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENETDOWN):
		err = nil // with the link the device has lost its members
	case err != nil:
		err = fmt.Errorf("leaving all multicast groups: %w", err)
	}
	err = errors.Join(err, m.socket.Close())
	<-m.done
	return err
}

// change changes the groups, and returns the reports that tell it.
func (m *member) change(memberships []traffic.Membership, change func(*membership.Groups, netip.Addr, netip.Addr) membership.Record) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var records []membership.Record
	for _, c := range memberships {
		for n := range c.Count {
			records = append(records, change(&m.groups, traffic.Above(c.Group, n), c.Source))
		}
	}
	return m.host.Reports(records)
}

// send sends reports in order. While the port's ring is full it waits.
func (m *member) send(ctx context.Context, reports [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	if err := m.socket.SetWriteDeadline(end); err != nil {
		return fmt.Errorf("sending a membership report: %w", err)
	}
	for _, report := range reports {
		for {
			_, err := m.socket.Write(report)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.ENOBUFS) {
				return fmt.Errorf("sending a membership report: %w", err)
			}
			if err := (traffic.RealClock{}).Sleep(ctx, fullPause); err != nil {
				return fmt.Errorf("sending a membership report: the port's ring is full: %w", err)
			}
		}
	}
	return nil
}

// answer answers queries until the socket closes. The answer goes at once: the
// delay that hosts choose is there for many on one wire, and a tester's port is
// alone on its own.
func (m *member) answer() {
	defer close(m.done)
	b := make([]byte, 1<<14)
	for {
		n, err := m.socket.Read(b)
		if errors.Is(err, unix.ENETDOWN) {
			continue // told once when the link goes
		}
		if err != nil {
			return
		}
		frame, ok := innerTags(m.host.VLANs).Untag(b[:n])
		if !ok {
			continue
		}
		query, ok := membership.ParseQuery(frame)
		if !ok {
			continue
		}
		// Under the lock, so that no answer tells of a group that was just left.
		m.mu.Lock()
		// What could not be sent, the device asks for again.
		_ = m.send(context.Background(), m.host.Reports(m.groups.Answer(query)))
		m.mu.Unlock()
	}
}

// membershipSocket opens a packet socket that sends past the queueing discipline
// and receives the queries of all groups.
func membershipSocket(index int, filter []unix.SockFilter) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("opening a packet socket: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: unsafe.SliceData(filter)}
	all := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_ALLMULTI}
	for doing, err := range map[string]error{
		"filtering for queries":             unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program),
		"bypassing the queueing discipline": unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
		"leaving out what the port sends":   unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		// A NIC gives frames to a group only to those who ask for them.
		"receiving all groups":  unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &all),
		"binding to the device": unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: index}),
	} {
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("preparing a packet socket: %s: %w", doing, err)
		}
	}
	return fd, nil
}

func bigEndian(v uint16) uint16 { return v<<8 | v>>8 }

// innerTags returns the tags that remain in a frame which a packet socket receives: the kernel
// keeps the outermost one outside the frame.
func innerTags(vlans frame.VLANs) frame.VLANs { return vlans[min(1, len(vlans)):] }

// Offsets of the data that the kernel keeps outside a frame (linux/filter.h, SKF_AD_OFF).
const (
	ancillary    = 1<<32 - 0x1000
	tagAt        = ancillary + 44
	tagPresentAt = ancillary + 48
	idMask       = 0xfff
)

// queries lets only queries of IGMP and MLD of a VLAN pass, so that the other traffic of
// the port costs nothing. Offsets count from the Ethernet header; an MLD query comes
// behind 8 bytes of hop-by-hop options.
func queries(vlans frame.VLANs) []unix.SockFilter {
	var filter []unix.SockFilter
	load := func(size uint16, at uint32) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_LD | size | unix.BPF_ABS, K: at})
	}
	unless := func(value uint32) { // the frame is dropped
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0})
	}
	inVLAN := func(v frame.VLAN) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: idMask})
		unless(uint32(v.ID))
	}
	if len(vlans) > 0 {
		load(unix.BPF_W, tagPresentAt)
		unless(1)
		load(unix.BPF_W, tagAt)
		inVLAN(vlans[0])
	}
	inside := innerTags(vlans)
	for i, v := range inside {
		load(unix.BPF_H, uint32(14+4*i))
		inVLAN(v)
	}
	n := uint32(inside.Bytes())
	return append(filter, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 12 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.ETH_P_IP, Jt: 0, Jf: 5},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 23 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_IGMP, Jt: 0, Jf: 8},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14 + n},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 14 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x11, Jt: 6, Jf: 5},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.ETH_P_IPV6, Jt: 0, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 54 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_ICMPV6, Jt: 0, Jf: 2},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 62 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 130, Jt: 1, Jf: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 14},
	}...)
}
