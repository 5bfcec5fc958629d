package bgp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
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
	options Options

	mu       sync.Mutex
	sessions []*session
	stop     context.CancelFunc
	running  sync.WaitGroup
	undo     []func() error
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
	return &Speaker{options: o}
}

// Open implements routing.Speaker.
func (s *Speaker) Open(ctx context.Context, sessions []routing.Session) error {
	for i := range sessions {
		if err := s.check(&sessions[i], sessions[:i]); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.mu.Lock()
	life, stop := context.WithCancel(context.Background())
	s.sessions, s.stop = nil, stop
	for _, conf := range sessions {
		conf.Password = cmp.Or(conf.Password, s.options.Passwords[conf.Name])
		port := s.options.Ports[conf.Port]
		undo, err := port.Address(conf.Local)
		if undo != nil {
			s.undo = append(s.undo, undo)
		}
		if err != nil {
			s.mu.Unlock()
			return errors.Join(fmt.Errorf("session %s: %w", conf.Name, err), s.Close())
		}
		one := newSession(conf)
		one.port, one.tcpPort, one.retry, one.maxRoutes = port, s.options.TCPPort, s.options.Retry, s.options.MaxRoutes
		s.sessions = append(s.sessions, one)
		s.running.Go(func() { one.run(life) })
	}
	all := s.sessions
	s.mu.Unlock()
	return endpoint.AwaitAll(ctx, all)
}

// Opened implements endpoint.Opening.
func (s *session) Opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Established {
		s.state.Flaps = 0
	}
	return s.state.Established
}

// check returns an error if a setting of a session is not possible.
func (s *Speaker) check(c *routing.Session, before []routing.Session) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("session %s: %s", c.Name, fmt.Sprintf(format, args...))
	}
	_, known := s.options.Ports[c.Port]
	switch {
	case slices.ContainsFunc(before, func(o routing.Session) bool { return o.Name == c.Name }):
		return fail("name: there are two sessions of this name")
	case !known:
		return fail("port: there is no port %q here", c.Port)
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

// AwaitUp implements endpoint.Opening.
func (s *session) AwaitUp(ctx context.Context) error {
	for {
		s.mu.Lock()
		established, final, down, changed := s.state.Established, s.final, s.down(), s.changed
		s.mu.Unlock()
		if established {
			return nil
		}
		if final {
			return down
		}
		select {
		case <-ctx.Done():
			return down
		case <-changed:
		}
	}
}

// Announce implements routing.Speaker.
func (s *Speaker) Announce(ctx context.Context, name string, sets []routing.Routes) (routing.Sent, error) {
	one, err := s.session(name)
	if err != nil {
		return routing.Sent{}, err
	}
	return one.send(ctx, sets, false)
}

// Withdraw implements routing.Speaker.
func (s *Speaker) Withdraw(ctx context.Context, name string, sets []routing.Routes) (routing.Sent, error) {
	one, err := s.session(name)
	if err != nil {
		return routing.Sent{}, err
	}
	return one.send(ctx, sets, true)
}

// Await implements routing.Speaker. A session that goes down and comes back meanwhile
// begins with an empty table.
func (s *Speaker) Await(ctx context.Context, name string, want routing.Table) (routing.Learnt, error) {
	one, err := s.session(name)
	if err != nil {
		return routing.Learnt{}, err
	}
	w := &waiter{want: want, got: make(chan routing.Learnt, 1)}
	one.mu.Lock()
	if one.state.Established && one.table.Table == want {
		defer one.mu.Unlock()
		return one.table.Learnt, nil
	}
	one.waiters[w] = true
	one.mu.Unlock()
	select {
	case got := <-w.got:
		return got, nil
	case <-ctx.Done():
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	delete(one.waiters, w)
	if !one.state.Established {
		return one.table.Learnt, one.down()
	}
	return one.table.Learnt, &routing.UnlearnedError{Session: name, Want: want, Got: one.table.Table}
}

// Learnt implements routing.Speaker.
func (s *Speaker) Learnt(_ context.Context, name string) (routing.Learnt, error) {
	one, err := s.session(name)
	if err != nil {
		return routing.Learnt{}, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.state.Established {
		return one.table.Learnt, one.down()
	}
	return one.table.Learnt, nil
}

// States implements routing.Speaker.
func (s *Speaker) States(context.Context) ([]routing.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]routing.State, 0, len(s.sessions))
	for _, one := range s.sessions {
		one.mu.Lock()
		states = append(states, one.state)
		one.mu.Unlock()
	}
	return states, nil
}

// Close implements routing.Speaker.
func (s *Speaker) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		s.running.Wait()
	}
	var all error
	for _, undo := range s.undo {
		all = errors.Join(all, undo())
	}
	s.sessions, s.stop, s.undo = nil, nil, nil
	return all
}

func (s *Speaker) session(name string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conf.Name == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("no session %q is open", name)
}
