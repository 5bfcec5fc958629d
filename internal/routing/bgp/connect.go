package bgp

import (
	"context"
	"net"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// Port is the local end of the sessions of a port.
type Port = endpoint.Port

// connect opens the connection of a session: by TCP with time to live 1 (RFC 4271 leaves
// it open; sessions are with neighbors), and MD5 (RFC 2385) with a password.
func connect(ctx context.Context, p Port, s *routing.Session, tcpPort uint16) (net.Conn, *cause) {
	conn, why := p.Connect(ctx, endpoint.Peer{
		Protocol: "BGP", Port: s.Port, Local: s.Local, Remote: s.Remote, TCPPort: tcpPort, TTL: 1, Password: s.Password,
	})
	if why != "" {
		return nil, because("%s", why)
	}
	return conn, nil
}
