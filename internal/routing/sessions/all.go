// Package sessions has what speakers of all protocols share: the sessions of a speaker, which are
// opened, awaited, asked and closed, and the state of each.
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// Session is a session of a protocol, which has a Held.
type Session interface {
	// Common returns the Held of the session, which embeds it.
	Common() *Held
	// Send announces or withdraws sets.
	Send(ctx context.Context, sets []routing.Routes, withdraw bool) (routing.Sent, error)
}

// All are the sessions of a speaker. It implements the methods of routing.Speaker that do not
// depend on the protocol.
type All[S Session] struct {
	// Ports of the sessions by name.
	Ports map[string]endpoint.Port
	// Passwords of TCP MD5 by the names of sessions, for those that are opened without one.
	Passwords map[string]routing.Secret

	mu       sync.Mutex
	sessions []S
	stop     context.CancelFunc
	running  sync.WaitGroup
	undo     []func() error
}

// Check returns an error if the name or the port of a session is not possible, given the sessions before it.
func (a *All[S]) Check(c routing.Session, before []routing.Session) error {
	_, known := a.Ports[c.Port]
	switch {
	case slices.ContainsFunc(before, func(o routing.Session) bool { return o.Name == c.Name }):
		return fmt.Errorf("session %s: name: there are two sessions of this name", c.Name)
	case !known:
		return fmt.Errorf("session %s: port: there is no port %q here", c.Name, c.Port)
	}
	return nil
}

// Replace replaces all sessions by new ones, and returns once all are established at one time.
// Begin makes a session. The function run, which may be nil if begin fails, keeps it open until life ends.
func (a *All[S]) Replace(ctx context.Context, confs []routing.Session, begin func(life context.Context, conf routing.Session, port endpoint.Port) (one S, run func(), err error)) error {
	if err := a.Close(); err != nil {
		return err
	}
	all, err := a.start(confs, begin)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	return awaitAll(ctx, all)
}

func (a *All[S]) start(confs []routing.Session, begin func(context.Context, routing.Session, endpoint.Port) (S, func(), error)) ([]S, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	life, stop := context.WithCancel(context.Background())
	a.sessions, a.stop = nil, stop
	for _, conf := range confs {
		conf.Password = cmp.Or(conf.Password, a.Passwords[conf.Name])
		port := a.Ports[conf.Port]
		undo, err := port.Address(conf.Local)
		if undo != nil {
			a.undo = append(a.undo, undo)
		}
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", conf.Name, err)
		}
		one, run, err := begin(life, conf, port)
		if run != nil {
			a.running.Go(run)
		}
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", conf.Name, err)
		}
		a.sessions = append(a.sessions, one)
	}
	return a.sessions, nil
}

// awaitAll waits until all sessions are established at one time: one may go down again
// while another comes up, as a router that begins BFD anew once BGP is up makes it. What
// happened until then are no flaps.
func awaitAll[S Session](ctx context.Context, all []S) error {
	for up := 0; up < len(all); {
		up = 0
		for _, one := range all {
			if one.Common().opened() {
				up++
			} else if err := one.Common().awaitUp(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Named returns a session.
func (a *All[S]) Named(name string) (one S, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.sessions {
		if one.Common().Conf.Name == name {
			return one, nil
		}
	}
	return one, fmt.Errorf("no session %q is open", name)
}

// Announce implements routing.Speaker.
func (a *All[S]) Announce(ctx context.Context, name string, sets []routing.Routes) (routing.Sent, error) {
	return a.send(ctx, name, sets, false)
}

// Withdraw implements routing.Speaker.
func (a *All[S]) Withdraw(ctx context.Context, name string, sets []routing.Routes) (routing.Sent, error) {
	return a.send(ctx, name, sets, true)
}

func (a *All[S]) send(ctx context.Context, name string, sets []routing.Routes, withdraw bool) (routing.Sent, error) {
	one, err := a.Named(name)
	if err != nil {
		return routing.Sent{}, err
	}
	return one.Send(ctx, sets, withdraw)
}

// Await implements routing.Speaker. A session that goes down and comes back meanwhile
// begins with an empty table.
func (a *All[S]) Await(ctx context.Context, name string, want routing.Table) (routing.Learnt, error) {
	one, err := a.Named(name)
	if err != nil {
		return routing.Learnt{}, err
	}
	return one.Common().await(ctx, want)
}

// Learnt implements routing.Speaker.
func (a *All[S]) Learnt(_ context.Context, name string) (routing.Learnt, error) {
	one, err := a.Named(name)
	if err != nil {
		return routing.Learnt{}, err
	}
	return one.Common().learnt()
}

// States implements routing.Speaker.
func (a *All[S]) States(context.Context) ([]routing.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	states := make([]routing.State, 0, len(a.sessions))
	for _, one := range a.sessions {
		h := one.Common()
		h.Lock()
		states = append(states, h.State)
		h.Unlock()
	}
	return states, nil
}

// Close implements routing.Speaker.
func (a *All[S]) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		a.stop()
		a.running.Wait()
	}
	var all error
	for _, undo := range a.undo {
		all = errors.Join(all, undo())
	}
	a.sessions, a.stop, a.undo = nil, nil, nil
	return all
}
