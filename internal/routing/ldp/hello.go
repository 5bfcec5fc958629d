package ldp

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// Hello messages of a link (RFC 5036 section 2.4.1).
const (
	helloHold     = 15 // seconds; the default of the RFC
	helloInterval = time.Second
)

// allRouters is the group of all routers of a link.
var allRouters = netip.AddrFrom4([4]byte{224, 0, 0, 2})

// adjacency is the device as its Hello messages describe it.
type adjacency struct {
	lsr       netip.Addr
	space     uint16
	transport netip.Addr
	// until is the end of the hold time.
	until time.Time
}

// discover opens the socket of the Hello messages of a session, and sends and receives them until
// ctx ends.
func (s *session) discover(ctx context.Context) error {
	config := net.ListenConfig{Control: endpoint.Control(s.helloSocket)}
	var conn net.PacketConn
	err := s.port.In(func() (err error) {
		conn, err = config.ListenPacket(ctx, "udp4", netip.AddrPortFrom(allRouters, s.udpPort).String())
		return err
	})
	if err != nil {
		return err
	}
	hellos := conn.(*net.UDPConn)
	s.parts.Go(func() {
		<-ctx.Done()
		_ = hellos.Close()
	})
	s.parts.Go(func() { s.hear(hellos) })
	s.parts.Go(func() { s.greet(ctx, hellos) })
	return nil
}

// helloSocket makes a socket send Hello messages from the port, and receive only messages of its link.
func (s *session) helloSocket(fd int) error {
	local := s.Conf.Local.As4()
	if err := s.port.Bind(fd); err != nil {
		return err
	}
	for _, set := range []func() error{
		func() error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) },
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0) },
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 0) },
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, 1) },
		func() error { return unix.SetsockoptInet4Addr(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, local) },
		func() error {
			return unix.SetsockoptIPMreq(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &unix.IPMreq{Multiaddr: allRouters.As4(), Interface: local})
		},
	} {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// greet sends a Hello message every interval.
func (s *session) greet(ctx context.Context, conn *net.UDPConn) {
	w := writer{lsr: s.Conf.RouterID}
	ticker := time.NewTicker(helloInterval)
	defer ticker.Stop()
	from := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: s.Conf.Local.As4()})
	for {
		// A failed send, such as on a link that is down, is repeated with the next message.
		_, _, _ = conn.WriteMsgUDPAddrPort(w.hello(helloHold, s.Conf.Local), from, netip.AddrPortFrom(allRouters, s.udpPort))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// hear takes the Hello messages of the device in until the socket is closed.
func (s *session) hear(conn *net.UDPConn) {
	buffer := make([]byte, lengthEnd+maxPDU)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		if from.Addr().Unmap() == s.Conf.Remote {
			if a, ok := heard(buffer[:n], s.Conf.Remote, time.Now()); ok {
				s.meet(a)
			}
		}
	}
}

// heard reads a packet with a Hello of the link. Others are not for the session.
func heard(b []byte, from netip.Addr, at time.Time) (adjacency, bool) {
	if len(b) < pduHeader || version != int(b[0])<<8|int(b[1]) || lengthEnd+(int(b[2])<<8|int(b[3])) != len(b) {
		return adjacency{}, false
	}
	p, err := parsePDU(b)
	if err != nil {
		return adjacency{}, false
	}
	for _, m := range p.messages {
		if m.kind != typeHello {
			continue
		}
		h, err := parseHello(m)
		if err != nil || h.targeted {
			continue
		}
		hold := min(cmp.Or(h.hold, helloHold), helloHold)
		a := adjacency{lsr: p.lsr, space: p.space, transport: h.transport, until: at.Add(time.Duration(hold) * time.Second)}
		if !a.transport.IsValid() {
			a.transport = from
		}
		return a, true
	}
	return adjacency{}, false
}

// meet takes in that the device was heard.
func (s *session) meet(a adjacency) {
	s.Lock()
	defer s.Unlock()
	s.adjacency = a
	select {
	case s.met <- struct{}{}:
	default:
	}
}

// awaitAdjacency waits until the device is heard.
func (s *session) awaitAdjacency(ctx context.Context) (adjacency, *cause) {
	for {
		s.Lock()
		a := s.adjacency
		if a.until.After(time.Now()) {
			s.Unlock()
			return a, nil
		}
		if s.up == nil && s.State.Flaps == 0 {
			s.State.Cause = "no Hello came from " + s.Conf.Remote.String() + ": LDP is not enabled on this interface of the device"
		}
		s.Unlock()
		select {
		case <-ctx.Done():
			return a, because("it was closed")
		case <-s.met:
		}
	}
}

// watchAdjacency ends the life of a session when no Hello comes for the hold time.
func (s *session) watchAdjacency(ctx context.Context, end context.CancelCauseFunc) {
	for {
		s.Lock()
		left := time.Until(s.adjacency.until)
		s.Unlock()
		if left <= 0 {
			end(refuse(statusHoldExpired, "no Hello came from the device for %d s, the hold time", helloHold))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}
