package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/routing"
)

// speaker is the tester's BGP sessions with the modeled device.
type speaker struct {
	tester *tester
	dut    *dut
	// sessions that are open, in their order.
	sessions []*simSession
	// losses of sessions that are to come.
	losses []sessionLoss
}

var (
	_ routing.Speaker = (*speaker)(nil)
	_ routing.Host    = (*Engine)(nil)
)

// simSession is a session with its state.
type simSession struct {
	routing.Session
	state routing.State
	// back is the time at which a session that is down is established again; 0 for never.
	back time.Duration
}

// sessionLoss describes when and why a session goes down by itself.
type sessionLoss struct {
	session string
	at      time.Duration
	cause   string
}

// WithSessionLoss lets a session go down for a cause, so long after simulated time began.
// The device withdraws what it announced.
func WithSessionLoss(session string, at time.Duration, cause string) Option {
	return func(e *Engine) { e.speaker.losses = append(e.speaker.losses, sessionLoss{session, at, cause}) }
}

// Speaker implements routing.Host.
func (e *Engine) Speaker() routing.Speaker { return &e.speaker }

// lose lets sessions go down whose time has come, and come back.
func (p *speaker) lose() {
	now := p.dut.now()
	for _, s := range p.sessions {
		if s.back > 0 && s.back <= now {
			s.state.Established, s.state.Since, s.back = true, uint64(s.back), 0
		}
	}
	p.losses = slices.DeleteFunc(p.losses, func(l sessionLoss) bool {
		s := p.named(l.session)
		if l.at > now || s == nil || !s.state.Established {
			return false
		}
		s.state.Established, s.state.Cause = false, l.cause
		s.state.Flaps++
		for _, b := range slices.Clone(p.dut.rib.blocks) {
			p.dut.rib.drop(l.at, b.Routes, func(p *path) bool { return p.session == s })
		}
		return true
	})
}

func (p *speaker) named(name string) *simSession {
	for _, s := range p.sessions {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// up is a session that can exchange routes.
func (p *speaker) up(ctx context.Context, name string) (*simSession, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	p.lose()
	s := p.named(name)
	if s == nil {
		return nil, fmt.Errorf("no session is called %s", name)
	}
	if !s.state.Established {
		return nil, &routing.DownError{Session: name, Port: s.Port, Cause: s.state.Cause}
	}
	return s, nil
}

// refused is the cause that a session reports if the device has no room for it (RFC 4486).
const refused = "the device sent NOTIFICATION Cease (6), Out of Resources (8)"

// Open implements routing.Speaker. The device forgets what was announced before, and
// refuses sessions that it has no room for.
func (p *speaker) Open(ctx context.Context, sessions []routing.Session) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p.dut.rib = newRIB(p.dut.behaviour, p.tester.order)
	p.sessions = nil
	for _, s := range sessions {
		if _, ok := p.tester.ports[s.Port]; !ok {
			return fmt.Errorf("session %s is on port %q, which the engine does not have", s.Name, s.Port)
		}
		p.sessions = append(p.sessions, &simSession{Session: s, state: routing.State{Session: s.Name}})
	}
	room, every := p.dut.behaviour.SessionCapacity, perRoute(p.dut.behaviour.SessionRate)
	if err := p.dut.clock.Sleep(ctx, time.Duration(every*float64(len(sessions)))); err != nil {
		return err
	}
	for i, s := range p.sessions {
		if room != nil && int64(i) >= *room {
			s.state.Cause = refused
			return &routing.DownError{Session: s.Name, Port: s.Port, Cause: refused, Final: true}
		}
		s.state.Established, s.state.Since = true, uint64(p.dut.now())
	}
	return nil
}

// Announce implements routing.Speaker.
func (p *speaker) Announce(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	return p.send(ctx, session, sets, func(s *simSession, set routing.Routes) {
		as := set.Attributes.ASPath
		if s.LocalASN != s.RemoteASN {
			as = append([]uint32{s.LocalASN}, as...)
		}
		digest := routing.PathDigest(append([]uint32{s.RemoteASN}, as...), nil, set.Attributes.Communities)
		p.dut.rib.announce(p.dut.now(), set, &path{session: s, id: set.Attributes.PathID, asLength: len(as), digest: digest})
	})
}

// Withdraw implements routing.Speaker.
func (p *speaker) Withdraw(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	return p.send(ctx, session, sets, func(s *simSession, set routing.Routes) {
		p.dut.rib.withdraw(p.dut.now(), set, s)
	})
}

// send hands sets over, which takes the modeled tester no time.
func (p *speaker) send(ctx context.Context, session string, sets []routing.Routes, do func(*simSession, routing.Routes)) (routing.Sent, error) {
	s, err := p.up(ctx, session)
	if err != nil {
		return routing.Sent{}, err
	}
	sent := routing.Sent{First: uint64(p.dut.now()), Last: uint64(p.dut.now())}
	for _, set := range sets {
		if err := set.Check(); err != nil {
			return sent, err
		}
		do(s, set)
		sent.Routes += uint64(set.Count)
		sent.Messages++
	}
	return sent, nil
}

// Await implements routing.Speaker. Once the device has handled all routes, nothing
// changes any more by itself, and what is missing then never comes.
func (p *speaker) Await(ctx context.Context, session string, want routing.Table) (routing.Learnt, error) {
	s, err := p.up(ctx, session)
	if err != nil {
		return routing.Learnt{}, err
	}
	learnt := p.dut.rib.learnt(s, p.dut.now())
	if learnt.Table == want {
		return learnt, nil
	}
	if err := p.dut.clock.Sleep(ctx, time.Duration(p.dut.rib.busy)+1-p.dut.now()); err != nil {
		return learnt, err
	}
	if learnt = p.dut.rib.learnt(s, p.dut.now()); learnt.Table != want {
		return learnt, &routing.UnlearnedError{Session: session, Want: want, Got: learnt.Table}
	}
	return learnt, nil
}

// Learnt implements routing.Speaker.
func (p *speaker) Learnt(ctx context.Context, session string) (routing.Learnt, error) {
	s, err := p.up(ctx, session)
	if err != nil {
		return routing.Learnt{}, err
	}
	return p.dut.rib.learnt(s, p.dut.now()), nil
}

// Refresh implements routing.Speaker. The device sends its routes again at the rate of the
// modeled behavior.
func (p *speaker) Refresh(ctx context.Context, session string) (routing.Refreshed, error) {
	s, err := p.up(ctx, session)
	if err != nil {
		return routing.Refreshed{}, err
	}
	asked, learnt := p.dut.now(), p.dut.rib.learnt(s, p.dut.now())
	every := perRoute(p.dut.behaviour.RouteRefreshRate)
	if err := p.dut.clock.Sleep(ctx, time.Duration(p.dut.rib.delay()+every*float64(learnt.Routes))); err != nil {
		return routing.Refreshed{Asked: uint64(asked)}, &routing.UnlearnedError{Session: session, Want: learnt.Table}
	}
	if _, err := p.up(ctx, session); err != nil {
		return routing.Refreshed{Asked: uint64(asked)}, err
	}
	return routing.Refreshed{Table: learnt.Table, Asked: uint64(asked), Last: uint64(p.dut.now())}, nil
}

// States implements routing.Speaker.
func (p *speaker) States(ctx context.Context) ([]routing.State, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	p.lose()
	var all []routing.State
	for _, s := range p.sessions {
		all = append(all, s.state)
	}
	return all, nil
}

// Close implements routing.Speaker.
func (p *speaker) Close() error {
	p.sessions, p.dut.rib = nil, newRIB(p.dut.behaviour, p.tester.order)
	return nil
}

// learnt returns what the device has advertised to a session up to a time: the paths that it
// uses, and with add-path all others at once. It does not advertise paths of the session
// itself, nor internal paths to internal peers.
func (r *rib) learnt(to *simSession, at time.Duration) routing.Learnt {
	var l routing.Learnt
	now := float64(at)
	for _, b := range r.blocks {
		first := uint32(0)
		for i := len(b.changes) - 1; i >= 0; i-- {
			c := b.changes[i]
			n := b.done(c, now)
			if n <= first {
				continue
			}
			if b.advertised(c.to, to) {
				l.Routes += uint64(n - first)
				l.Digest += b.sum(c.to.digest, first, n)
			}
			if when := c.at + float64(n-1)*c.every; c.to == nil || c.to.session != to {
				l.Last = max(l.Last, uint64(when))
			}
			first = n
		}
		for _, p := range b.paths {
			if to.AddPath && p != b.best() && b.advertised(p, to) {
				l.Routes += uint64(b.Count)
				l.Digest += b.digest(p.digest, 0, b.Count)
			}
		}
	}
	l.Updates = l.Routes
	return l
}

// advertised reports whether the device advertises a path to a session.
func (b *block) advertised(p *path, to *simSession) bool {
	if p == nil || p.session == to || !slices.Contains(to.Families, b.Family()) {
		return false
	}
	from := p.session
	return from.LocalASN != from.RemoteASN || to.LocalASN != to.RemoteASN
}
