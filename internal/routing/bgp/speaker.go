package bgp

import (
	"context"
	"fmt"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/sessions"
)

// DefaultMaxRoutes is the number of routes that a session learns at most, unless Options set
// another limit.
const DefaultMaxRoutes = 8_000_000

// Options of a Speaker.
type Options struct {
	// Ports of the sessions by name.
	Ports map[string]Port
	// TCPPort of the device; 0 means 179.
	TCPPort uint16
	// Retry is the time from the end of a session to the next attempt; 0 means 1 s.
	Retry time.Duration
	// Passwords of TCP MD5 by the names of sessions, for those that are opened without one.
	Passwords map[string]routing.Secret
	// MaxRoutes that a session learns; one with more is ended. 0 means DefaultMaxRoutes.
	MaxRoutes uint64
}

// Speaker implements routing.Speaker.
type Speaker struct {
	sessions.All[*session]
	options Options
}

var _ routing.Speaker = (*Speaker)(nil)

// New returns a speaker without sessions.
func New(o Options) *Speaker {
	if o.TCPPort == 0 {
		o.TCPPort = bgp.BGP_PORT
	}
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	if o.MaxRoutes == 0 {
		o.MaxRoutes = DefaultMaxRoutes
	}
	return &Speaker{All: sessions.All[*session]{Ports: o.Ports, Passwords: o.Passwords}, options: o}
}

// Open implements routing.Speaker.
func (s *Speaker) Open(ctx context.Context, all []routing.Session) error {
	for i := range all {
		if err := s.check(&all[i], all[:i]); err != nil {
			return err
		}
	}
	return s.Replace(ctx, all, func(life context.Context, conf routing.Session, port Port) (*session, func(), error) {
		one := newSession(conf)
		one.port, one.tcpPort, one.retry, one.maxRoutes = port, s.options.TCPPort, s.options.Retry, s.options.MaxRoutes
		return one, func() { one.run(life) }, nil
	})
}

// check returns an error if a setting of a session is not possible.
func (s *Speaker) check(c *routing.Session, before []routing.Session) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("session %s: %s", c.Name, fmt.Sprintf(format, args...))
	}
	if err := s.Check(*c, before); err != nil {
		return err
	}
	switch {
	case zeroAddress(c.Local), zeroAddress(c.Remote), c.Local.Is4() != c.Remote.Is4():
		return fail("addresses: %v and %v must be given and of one IP version", c.Local, c.Remote)
	case c.LocalASN == 0, c.RemoteASN == 0:
		return fail("asn: %d and %d, must be 1 to 4294967295", c.LocalASN, c.RemoteASN)
	case zeroAddress(c.RouterID), !c.RouterID.Is4():
		return fail("routerID: %v, must be an IPv4 address", c.RouterID)
	case c.HoldTime != 0 && (c.HoldTime < 3*time.Second || c.HoldTime > 65535*time.Second):
		return fail("holdTime: %v, must be 0 or 3s to 65535s", c.HoldTime)
	case len(c.Families) == 0:
		return fail("families: none; allowed are ipv4Unicast, ipv6Unicast, ipv4LabeledUnicast, ipv6LabeledUnicast")
	case c.BFD != nil && (c.BFD.Interval < 10*time.Millisecond || c.BFD.Interval > time.Minute || c.BFD.Multiplier == 0):
		return fail("bfd: %v x %d, must be 10ms to 1m x 1 to 255", c.BFD.Interval, c.BFD.Multiplier)
	}
	for _, f := range c.Families {
		if families[f] == 0 {
			return fail("families: %s; allowed are ipv4Unicast, ipv6Unicast, ipv4LabeledUnicast, ipv6LabeledUnicast", f)
		}
	}
	return nil
}
