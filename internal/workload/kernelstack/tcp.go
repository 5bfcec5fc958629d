package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// listen waits for TCP connections at a host.
func (h *host) listen(ctx context.Context, congestion string) (l net.Listener, err error) {
	err = netif.In(h.ns, func() (err error) {
		l, err = (&net.ListenConfig{Control: setControl(congestion)}).Listen(ctx, "tcp4", netip.AddrPortFrom(h.address, serverPort).String())
		return err
	})
	return l, explain(err, congestion)
}

// party is a host with its role in messages.
type party struct {
	role string
	*host
}

func (p party) String() string { return fmt.Sprintf("%s %s on port %s", p.role, p.address, p.port) }

// connect opens a TCP connection to a listener, at which no other one arrives, and returns its ends, also after an error.
func connect(ctx context.Context, from, to party, l net.Listener, congestion string) (near, far *net.TCPConn, _ error) {
	address := netip.AddrPortFrom(to.address, serverPort)
	var conn net.Conn
	err := netif.In(from.ns, func() (err error) {
		conn, err = (&net.Dialer{Control: setControl(congestion), KeepAlive: -1}).DialContext(ctx, "tcp4", address.String())
		return err
	})
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, nil, fmt.Errorf("%s does not answer %s within %s: the device must forward IPv4 between these ports", to, from, connectTime)
	case err != nil:
		return nil, nil, fmt.Errorf("connecting %s to %s: %w", from, to, explain(err, congestion))
	}
	near = conn.(*net.TCPConn)
	accepted, err := l.Accept() // the handshake is over
	if err != nil {
		return near, nil, fmt.Errorf("%s: %w", to, err)
	}
	return near, accepted.(*net.TCPConn), nil
}

// setControl returns a function that sets the congestion control of a socket; it does nothing without a name.
func setControl(name string) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		if name == "" {
			return nil
		}
		if failed := c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) }); failed != nil {
			return failed
		}
		return err
	}
}

// explain names the congestion controls that the kernel has, if it lacks the one that was asked for.
func explain(err error, control string) error {
	if control == "" || !errors.Is(err, unix.ENOENT) {
		return err
	}
	has, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	return fmt.Errorf("congestionControl is %s, and the kernel of the hosts has %s: choose one of these, or load the module tcp_%s", control, strings.Join(strings.Fields(string(has)), ", "), control)
}

// control calls f with the socket of a connection.
func control(c *net.TCPConn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = f(int(fd)) }); failed != nil {
		return failed
	}
	return err
}

// setDeadlines ends reads and writes of connections at a time.
func setDeadlines(at time.Time, all ...*net.TCPConn) {
	for _, c := range all {
		if c != nil {
			_ = c.SetDeadline(at)
		}
	}
}

// closeAtOnce ends connections. What is on its way is not sent again.
func closeAtOnce(all ...*net.TCPConn) {
	for _, c := range all {
		if c != nil {
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}
}

// hostSettings reads the offloads of the ports, and the MTU of hosts: another one than the MTU that was asked for, if a host has one.
func (e *Engine) hostSettings(hosts []*host, asked int) (s workload.Settings, err error) {
	if s.Offloads, err = e.offloadsOn(); err != nil {
		return s, err
	}
	for _, h := range hosts {
		mtu, err := h.mtu()
		if err != nil {
			return s, err
		}
		if s.MTU == 0 || mtu != asked {
			s.MTU = mtu
		}
	}
	return s, nil
}

// noteControl reads the congestion control of a socket: settings have another one than the one that was asked for, if a socket has one.
func noteControl(s *workload.Settings, fd int, asked string) error {
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err == nil && (s.CongestionControl == "" || name != asked) {
		s.CongestionControl = name
	}
	return err
}
