package ldp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/sessions"
)

// DefaultMaxRoutes is the number of labels that a session learns at most, unless Options set
// another limit. There are 1,048,560 labels.
const DefaultMaxRoutes = 1 << 20

// tcpPort and udpPort of LDP (RFC 5036 section 3.10).
const (
	tcpPort = 646
	udpPort = 646
)

// Options of a Speaker.
type Options struct {
	// Ports of the sessions by name.
	Ports map[string]endpoint.Port
	// Retry is the time from the end of a session to the next attempt; 0 means 1 s.
	Retry time.Duration
	// Passwords of TCP MD5 by the names of sessions, for those that are opened without one.
	Passwords map[string]routing.Secret
	// MaxRoutes is the number of labels that a session learns; one with more is ended. 0 means
	// DefaultMaxRoutes.
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
	o.Retry = cmp.Or(o.Retry, time.Second)
	o.MaxRoutes = cmp.Or(o.MaxRoutes, DefaultMaxRoutes)
	return &Speaker{All: sessions.All[*session]{Ports: o.Ports, Passwords: o.Passwords}, options: o}
}

// Open implements routing.Speaker.
func (s *Speaker) Open(ctx context.Context, all []routing.Session) error {
	for i := range all {
		if err := s.check(&all[i], all[:i]); err != nil {
			return err
		}
	}
	return s.Replace(ctx, all, func(life context.Context, conf routing.Session, port endpoint.Port) (*session, func(), error) {
		one := newSession(conf)
		one.port, one.tcpPort, one.udpPort = port, tcpPort, udpPort
		one.retry, one.maxRoutes = s.options.Retry, s.options.MaxRoutes
		err := one.listen(life)
		if err == nil {
			err = one.discover(life)
		}
		if err != nil {
			return nil, one.parts.Wait, err
		}
		return one, func() {
			one.run(life)
			one.parts.Wait()
		}, nil
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
	case c.Protocol != routing.LDP:
		return fail("protocol: %v; this speaker has LDP only", c.Protocol)
	case !c.Local.Is4() || !c.Remote.Is4():
		return fail("addresses: %v and %v must be IPv4 addresses", c.Local, c.Remote)
	case !c.RouterID.Is4():
		return fail("routerID: %v, must be an IPv4 address", c.RouterID)
	case c.HoldTime < 3*time.Second || c.HoldTime > 65535*time.Second:
		return fail("holdTime: %v, must be 3s to 65535s", c.HoldTime)
	case c.BFD != nil || c.AddPath:
		return fail("bfd and addPath: LDP has neither; leave both out")
	}
	return nil
}

// Refresh implements routing.Speaker. LDP has no such request.
func (s *Speaker) Refresh(_ context.Context, name string) (routing.Refreshed, error) {
	return routing.Refreshed{}, fmt.Errorf("session %s: LDP cannot ask for all labels once more, as ROUTE-REFRESH of BGP does", name)
}
