package bfd

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"

	"github.com/osrg/gobgp/v4/pkg/packet/bfd"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// Ports and time to live of RFC 5881, sections 4 and 5.
const (
	port        = 3784
	firstSource = 49152
	lastSource  = 65535
	timeToLive  = 255
)

// socket are the two sockets of a session.
type socket struct {
	remote           netip.Addr
	sender, receiver *net.UDPConn
	// receive returns the time to live of a packet, too.
	receive func([]byte) (n, ttl int, from netip.Addr, err error)
}

// open opens the sockets in the network namespace of the calling thread.
func open(local, remote netip.Addr) (*socket, error) {
	s := &socket{remote: remote}
	var err error
	if s.receiver, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, port))); err != nil {
		return nil, err
	}
	if s.sender, err = dial(local, remote); err != nil {
		return nil, errors.Join(err, s.receiver.Close())
	}
	if local.Is4() {
		err = errors.Join(ipv4.NewConn(s.sender).SetTTL(timeToLive), s.receive4())
	} else {
		err = errors.Join(ipv6.NewConn(s.sender).SetHopLimit(timeToLive), s.receive6())
	}
	if err != nil {
		return nil, errors.Join(err, s.sender.Close(), s.receiver.Close())
	}
	return s, nil
}

// dial tries source ports until one is free.
func dial(local, remote netip.Addr) (*net.UDPConn, error) {
	for {
		source := netip.AddrPortFrom(local, uint16(firstSource+rand.IntN(lastSource-firstSource+1)))
		conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(source), net.UDPAddrFromAddrPort(netip.AddrPortFrom(remote, port)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return conn, err
		}
	}
}

func (s *socket) receive4() error {
	p := ipv4.NewPacketConn(s.receiver)
	s.receive = func(b []byte) (n, ttl int, from netip.Addr, err error) {
		n, control, source, err := p.ReadFrom(b)
		if err != nil || control == nil {
			return 0, 0, netip.Addr{}, err
		}
		return n, control.TTL, addressOf(source), nil
	}
	return p.SetControlMessage(ipv4.FlagTTL, true)
}

func (s *socket) receive6() error {
	p := ipv6.NewPacketConn(s.receiver)
	s.receive = func(b []byte) (n, ttl int, from netip.Addr, err error) {
		n, control, source, err := p.ReadFrom(b)
		if err != nil || control == nil {
			return 0, 0, netip.Addr{}, err
		}
		return n, control.HopLimit, addressOf(source), nil
	}
	return p.SetControlMessage(ipv6.FlagHopLimit, true)
}

func addressOf(a net.Addr) netip.Addr {
	if u, ok := a.(*net.UDPAddr); ok {
		return u.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// The flags A (authentication) and M (multipoint) in the second byte of a packet.
const authenticated, multipoint = 1 << 2, 1

// read reads a packet; nil for one that is not of a session of this kind.
func (s *socket) read(buffer []byte) (*bfd.BFDHeader, error) {
	n, ttl, from, err := s.receive(buffer)
	if err != nil {
		return nil, err
	}
	h := &bfd.BFDHeader{}
	if ttl != timeToLive || from.WithZone("") != s.remote.WithZone("") || n < 2 || buffer[1]&(authenticated|multipoint) != 0 || h.UnmarshalBinary(buffer[:n]) != nil {
		return nil, nil
	}
	return h, nil
}

// waiting reports whether a packet has come that is not read yet.
func (s *socket) waiting() bool {
	raw, err := s.receiver.SyscallConn()
	if err != nil {
		return false
	}
	ready := 0
	_ = raw.Control(func(fd uintptr) {
		ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return ready > 0
}

func (s *socket) send(h *bfd.BFDHeader) error {
	b, err := h.MarshalBinary()
	if err != nil {
		return err
	}
	_, err = s.sender.Write(b)
	return err
}
