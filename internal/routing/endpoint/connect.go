package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"nodrop.dev/nodrop/internal/routing"
)

// ConnectTime is the time that the device may take to accept a connection: three SYN.
const ConnectTime = 7 * time.Second

// Peer is the other end of a connection of a session.
type Peer struct {
	// Protocol of the session and name of its port, for messages.
	Protocol, Port string
	// Local and Remote addresses, and the TCP port of the device.
	Local, Remote netip.Addr
	TCPPort       uint16
	// TTL of the packets.
	TTL int
	// OnLink sends the packets by the interface of the port, whatever the routes of the host
	// are.
	OnLink bool
	// Password of TCP MD5 (RFC 2385); empty for none.
	Password routing.Secret
}

// Connect opens the connection of a session by TCP. Why is the reason why it cannot; empty for
// none.
func (p Port) Connect(ctx context.Context, peer Peer) (conn net.Conn, why string) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTime)
	defer cancel()
	to := netip.AddrPortFrom(peer.Remote, peer.TCPPort)
	dialer := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(peer.Local, 0)),
		KeepAlive: -1, // protocols have their own
		Control: Control(func(fd int) error {
			if err := SetTTL(fd, peer.Remote, peer.TTL); err != nil {
				return err
			}
			if peer.OnLink {
				if err := p.Bind(fd); err != nil {
					return err
				}
			}
			return SetPassword(fd, peer.Remote, peer.Password)
		}),
	}
	err := p.In(func() (err error) {
		conn, err = dialer.DialContext(ctx, "tcp", to.String())
		return err
	})
	var timeout net.Error
	switch {
	case err == nil:
		return conn, ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Sprintf("the device refuses connections to %v: it has no %s there", to, peer.Protocol)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Sprintf("the port %s does not have the address %v", peer.Port, peer.Local)
	case errors.Is(err, context.Canceled):
		return nil, "it was closed"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		hint := "this session has no TCP MD5 password"
		if peer.Password != "" {
			hint = "this session has one"
		}
		return nil, fmt.Sprintf("no answer to connections to %v: the device does not answer at all, or drops them, as it does when TCP MD5 passwords differ (%s)", to, hint)
	}
	return nil, fmt.Sprintf("connecting: %v", err)
}
