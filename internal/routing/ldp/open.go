package ldp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// openTime is the time that the device may take from one message of opening to the next, and
// acceptTime the time from a Hello to its connection.
const (
	openTime   = 30 * time.Second
	acceptTime = 30 * time.Second
)

// ttl of the packets of sessions, which devices with GTSM (RFC 6720) ask for.
const ttl = 255

// listen accepts connections of the device to the address of the session until ctx ends.
func (s *session) listen(ctx context.Context) error {
	config := net.ListenConfig{KeepAlive: -1, Control: endpoint.Control(func(fd int) error {
		if err := endpoint.SetTTL(fd, s.Conf.Remote, ttl); err != nil {
			return err
		}
		return s.port.Bind(fd)
	})}
	var l net.Listener
	err := s.port.In(func() (err error) {
		l, err = config.Listen(ctx, "tcp4", netip.AddrPortFrom(s.Conf.Local, s.tcpPort).String())
		return err
	})
	if err != nil {
		return err
	}
	s.listener = l.(*net.TCPListener)
	s.parts.Go(func() {
		<-ctx.Done()
		_ = l.Close()
	})
	s.parts.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			select {
			case s.accepted <- conn:
			default: // no connection is expected
				_ = conn.Close()
			}
		}
	})
	return nil
}

// active reports whether the tester opens the connection (RFC 5036 section 2.5.2).
func (s *session) active(a adjacency) bool { return a.transport.Less(s.Conf.Local) }

// connect opens the connection to the transport address of the device, or awaits that of the
// device.
func (s *session) connect(ctx context.Context, a adjacency) (net.Conn, *cause) {
	if s.active(a) {
		conn, why := s.port.Connect(ctx, endpoint.Peer{
			Protocol: "LDP", Port: s.Conf.Port, Local: s.Conf.Local, Remote: a.transport, TCPPort: s.tcpPort, TTL: ttl, OnLink: true, Password: s.Conf.Password,
		})
		if why != "" {
			return nil, because("%s", why)
		}
		return conn, nil
	}
	raw, err := s.listener.SyscallConn()
	if err == nil {
		err = endpoint.Control(func(fd int) error { return endpoint.SetPassword(fd, a.transport, s.Conf.Password) })("", "", raw)
	}
	if err != nil {
		return nil, because("%v", err)
	}
	waiting := time.NewTimer(acceptTime)
	defer waiting.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, because("it was closed")
		case <-waiting.C:
			return nil, because("the device, whose transport address %v is the greater one, has opened no connection to %v for %v: TCP MD5 passwords may differ", a.transport, s.Conf.Local, acceptTime)
		case conn := <-s.accepted:
			if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil && from.Addr().Unmap() == a.transport {
				return conn, nil
			}
			_ = conn.Close()
		}
	}
}

// open exchanges Initialization and KeepAlive. It returns the hold time that was agreed on.
func (s *session) open(ctx context.Context, l *endpoint.Link, w *writer, r *reader) (time.Duration, *cause) {
	own := uint16(s.Conf.HoldTime / time.Second)
	send := func(b []byte) *cause {
		if _, _, err := l.Write(ctx, b); err != nil {
			return because("opening the session: %v", err)
		}
		return nil
	}
	begin := func() *cause { return send(w.initialization(own, r.device.lsr, r.device.space)) }
	active := s.active(r.device)
	if active {
		if c := begin(); c != nil {
			return 0, c
		}
	}
	m, c := expect(ctx, r, typeInitialization)
	if c != nil {
		return 0, c
	}
	i, err := parseInitialization(m)
	if err != nil {
		return 0, ended(err)
	}
	switch {
	case i.version != version:
		return 0, refuse(statusBadVersion, "the device has version %d of LDP", i.version)
	case i.keepAlive == 0:
		return 0, refuse(statusBadKeepAlive, "the device has a hold time of 0")
	case i.receiver != s.Conf.RouterID || i.space != 0:
		return 0, refuse(statusNoHello, "the device opened a session with %v:%d, and the tester is %v:0", i.receiver, i.space, s.Conf.RouterID)
	}
	if i.length > 255 {
		w.limit = min(maxPDU, int(i.length))
	}
	if !active {
		if c := begin(); c != nil {
			return 0, c
		}
	}
	if c := send(w.keepAlive()); c != nil {
		return 0, c
	}
	if _, c := expect(ctx, r, typeKeepAlive); c != nil {
		return 0, c
	}
	return time.Duration(min(own, i.keepAlive)) * time.Second, nil
}

// expect reads a message of a type.
func expect(ctx context.Context, r *reader, kind uint16) (message, *cause) {
	m, c := r.next(ctx)
	switch {
	case c != nil:
		return m, c
	case m.kind == kind:
		return m, nil
	case m.kind == typeNotification:
		code, err := parseStatus(m)
		if err != nil {
			return m, ended(err)
		}
		c := because("the device sent Notification %v", code)
		c.final = slices.Contains(rejections, code)
		return m, c
	}
	return m, refuse(statusShutdown, "the device sent %s in place of %s", nameOf(m.kind), nameOf(kind))
}

// rejections are the codes of a device that is configured for other parameters than the tester.
var rejections = []status{statusBadMode, statusBadSize, statusBadRange, statusBadKeepAlive}

// errLabels reports routes that LDP cannot announce.
var errLabels = errors.New("LDP announces labels of IPv4 prefixes: give an IPv4 prefix in first, and a label")
