package kernelstack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// membershipsPerSocket is the number of groups that the kernel lets a socket join by default (igmp_max_memberships). A
// container may not change it.
const membershipsPerSocket = 20

// subscriber is a host that has joined all groups. One socket receives. Further ones only hold memberships, which count for all
// sockets of a host (IP_MULTICAST_ALL).
type subscriber struct {
	*host
	run     *messages
	conn    *net.UDPConn
	members []*net.UDPConn
	buffer  int
	// probes is the number of pairs of publishers and groups with a probe, and arrived the number of messages.
	probes, arrived atomic.Int64
	probed          []bool
	// streams have the messages of each publisher and group.
	streams               []stream
	duplicates, reordered int64
	latencies             latencies
	failed                error
}

// stream has the numbers that arrived of a publisher and a group, as a set of bits.
type stream struct {
	seen     []uint64
	received int64
	// next is the number after the highest one that arrived.
	next uint64
}

// add notes a number, and reports whether it is new and whether it came after a higher one.
func (s *stream) add(n uint64) (fresh, late bool) {
	for uint64(len(s.seen)) <= n/64 {
		s.seen = append(s.seen, 0)
	}
	bit := uint64(1) << (n % 64)
	if s.seen[n/64]&bit != 0 {
		return false, false
	}
	s.seen[n/64] |= bit
	s.received++
	late = n < s.next
	s.next = max(s.next, n+1)
	return true, late
}

func newSubscriber(run *messages, h *host) *subscriber {
	pairs := len(run.request.Publishers) * run.request.Groups
	return &subscriber{host: h, run: run, probed: make([]bool, pairs), streams: make([]stream, pairs)}
}

// open makes the socket with a buffer of so many bytes, and joins all groups.
func (s *subscriber) open(buffer int) error {
	return netif.In(s.ns, func() (err error) {
		if s.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero, Port: messagePort}); err != nil {
			return err
		}
		if err := setReceiveBuffer(s.conn, buffer); err != nil {
			return err
		}
		if s.buffer, err = socketOption(s.conn, unix.SO_RCVBUF); err != nil {
			return err
		}
		card, err := net.InterfaceByName(hostInterface)
		if err != nil {
			return err
		}
		for n := range s.run.request.Groups {
			if n%membershipsPerSocket == 0 {
				c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: s.address.AsSlice()})
				if err != nil {
					return err
				}
				s.members = append(s.members, c)
			}
			group := workload.Group(s.run.request.FirstGroup, n)
			if err := ipv4.NewPacketConn(s.members[len(s.members)-1]).JoinGroup(card, &net.UDPAddr{IP: group.AsSlice()}); err != nil {
				return fmt.Errorf("joining group %s: %w", group, err)
			}
		}
		return nil
	})
}

// setReceiveBuffer sets the buffer of a socket, above net.core.rmem_max where that is allowed.
func setReceiveBuffer(c *net.UDPConn, bytes int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes)
		if errors.Is(failed, unix.EPERM) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("setting the receive buffer to %d bytes: %w", bytes, err)
	}
	return nil
}

// receive counts datagrams until the socket has a deadline.
func (s *subscriber) receive() {
	packet := ipv4.NewPacketConn(s.conn)
	in := make([]ipv4.Message, batch)
	for i := range in {
		in[i].Buffers = [][]byte{make([]byte, s.run.request.Bytes+1)}
	}
	for {
		n, err := packet.ReadBatch(in, 0)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			s.failed = fmt.Errorf("receiving: %w", err)
			return
		}
		now := time.Since(s.run.base)
		for _, m := range in[:n] {
			s.count(m.Buffers[0][:m.N], now)
		}
	}
}

// count notes a datagram. Others than messages of the run are left out.
func (s *subscriber) count(b []byte, now time.Duration) {
	if len(b) != s.run.request.Bytes || binary.BigEndian.Uint64(b) != s.run.id {
		return
	}
	publisher, group, number := binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint64(b[16:])
	if int(publisher) >= len(s.run.request.Publishers) || int(group) >= s.run.request.Groups {
		return
	}
	pair := int(publisher)*s.run.request.Groups + int(group)
	if number == probeNumber {
		if !s.probed[pair] {
			s.probed[pair] = true
			s.probes.Add(1)
		}
		return
	}
	fresh, late := s.streams[pair].add(number)
	if !fresh {
		s.duplicates++
		return
	}
	if late {
		s.reordered++
	}
	s.latencies.add(now - time.Duration(binary.BigEndian.Uint64(b[24:])))
	s.arrived.Add(1)
}

// socketDrops returns the number of datagrams that the socket has dropped.
func (s *subscriber) socketDrops() (n int64, err error) {
	err = netif.In(s.ns, func() error {
		proc, err := procfs.NewFS("/proc/thread-self")
		if err != nil {
			return err
		}
		sockets, err := proc.NetUDP()
		if err != nil {
			return err
		}
		for _, one := range sockets {
			if one.LocalPort == messagePort && one.Drops != nil {
				n = int64(*one.Drops)
				return nil
			}
		}
		return fmt.Errorf("the kernel lists no socket with UDP port %d and its drops", messagePort)
	})
	if err != nil {
		err = fmt.Errorf("reading the drops of the socket of subscriber %s: %w", s.address, err)
	}
	return n, err
}

// summarize returns the counts of the subscriber, of the messages that publishers sent.
func (s *subscriber) summarize(publishers []*publisher) workload.Subscriber {
	out := workload.Subscriber{
		Address: s.address.String(), Port: s.port, ReceiveBuffer: s.buffer, Duplicates: s.duplicates, Reordered: s.reordered,
		LostByGroup: make([]int64, s.run.request.Groups), Max: time.Duration(s.latencies.longest),
	}
	for _, p := range publishers {
		for group := range s.run.request.Groups {
			one := s.streams[p.index*s.run.request.Groups+group]
			lost := p.sentTo(group) - one.received
			out.Received += one.received
			out.Lost += lost
			out.LostByGroup[group] += lost
		}
	}
	out.P50, out.P99 = s.latencies.percentile(50), s.latencies.percentile(99)
	return out
}

// stop ends receive.
func (s *subscriber) stop() { _ = s.conn.SetReadDeadline(time.Now()) }

func (s *subscriber) close() {
	for _, c := range append(s.members, s.conn) {
		if c != nil {
			_ = c.Close()
		}
	}
}
