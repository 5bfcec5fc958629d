// Package speakers chooses the speaker of the protocol that a bed has: BGP or LDP.
package speakers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bgp"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/ldp"
)

// Options of a Speaker.
type Options struct {
	// Ports of the sessions by name.
	Ports map[string]endpoint.Port
	// Passwords of TCP MD5 by the names of sessions, for those that are opened without one.
	Passwords map[string]routing.Secret
}

// Speaker is the speaker of the protocol of the sessions that were opened last.
type Speaker struct {
	of map[routing.Protocol]routing.Speaker

	mu   sync.Mutex
	open routing.Speaker
}

var _ routing.Speaker = (*Speaker)(nil)

// New returns a speaker without sessions.
func New(o Options) *Speaker {
	s := &Speaker{of: map[routing.Protocol]routing.Speaker{
		routing.BGP: bgp.New(bgp.Options{Ports: o.Ports, Passwords: o.Passwords}),
		routing.LDP: ldp.New(ldp.Options{Ports: o.Ports, Passwords: o.Passwords}),
	}}
	s.open = s.of[routing.BGP]
	return s
}

// Open implements routing.Speaker. All sessions must be of one protocol.
func (s *Speaker) Open(ctx context.Context, sessions []routing.Session) error {
	protocol := routing.BGP
	for i, one := range sessions {
		p := routing.BGP
		if one.Protocol != "" {
			p = one.Protocol
		}
		if i > 0 && p != protocol {
			return fmt.Errorf("session %s is of %v, and the sessions before it are of %v: open sessions of one protocol", one.Name, p, protocol)
		}
		protocol = p
	}
	next, known := s.of[protocol]
	if !known {
		return fmt.Errorf("session %s: there is no speaker of %v", sessions[0].Name, protocol)
	}
	if before := s.current(); before != next {
		if err := before.Close(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.open = next
	s.mu.Unlock()
	return next.Open(ctx, sessions)
}

func (s *Speaker) current() routing.Speaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Announce implements routing.Speaker.
func (s *Speaker) Announce(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	return s.current().Announce(ctx, session, sets)
}

// Withdraw implements routing.Speaker.
func (s *Speaker) Withdraw(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	return s.current().Withdraw(ctx, session, sets)
}

// Await implements routing.Speaker.
func (s *Speaker) Await(ctx context.Context, session string, want routing.Table) (routing.Learnt, error) {
	return s.current().Await(ctx, session, want)
}

// Learnt implements routing.Speaker.
func (s *Speaker) Learnt(ctx context.Context, session string) (routing.Learnt, error) {
	return s.current().Learnt(ctx, session)
}

// Refresh implements routing.Speaker.
func (s *Speaker) Refresh(ctx context.Context, session string) (routing.Refreshed, error) {
	return s.current().Refresh(ctx, session)
}

// States implements routing.Speaker.
func (s *Speaker) States(ctx context.Context) ([]routing.State, error) {
	return s.current().States(ctx)
}

// Close implements routing.Speaker.
func (s *Speaker) Close() error {
	var all error
	for _, one := range s.of {
		all = errors.Join(all, one.Close())
	}
	return all
}
