package routing

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Part is a speaker that has some of the ports.
type Part struct {
	Ports   []string
	Speaker Speaker
}

// joined is one speaker made of several.
type joined struct {
	parts []Part
	owner map[string]int // by port

	mu       sync.Mutex
	sessions []Session
	home     map[string]int // by session
}

// Join makes one speaker out of those of several hosts. Sessions of a part that does not
// answer, or that has forgotten them, are down, and say so in their states.
func Join(parts ...Part) Speaker {
	j := &joined{parts: parts, owner: map[string]int{}}
	for i, p := range parts {
		for _, port := range p.Ports {
			j.owner[port] = i
		}
	}
	return j
}

// Open implements Speaker. Parts open their sessions at the same time.
func (j *joined) Open(ctx context.Context, sessions []Session) error {
	home, shares := map[string]int{}, make([][]Session, len(j.parts))
	for _, s := range sessions {
		i, ok := j.owner[s.Port]
		if !ok {
			return fmt.Errorf("session %s: port: there is no port %q here", s.Name, s.Port)
		}
		if _, twice := home[s.Name]; twice {
			return fmt.Errorf("session %s: name: there are two sessions of this name", s.Name)
		}
		home[s.Name], shares[i] = i, append(shares[i], s)
	}
	j.mu.Lock()
	j.sessions, j.home = sessions, home
	j.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range j.parts {
		group.Go(func() error { return p.Speaker.Open(ctx, shares[i]) })
	}
	return group.Wait()
}

// of is the part that has a session.
func (j *joined) of(session string) (Speaker, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.home[session]
	if !ok {
		return nil, fmt.Errorf("no session %q is open", session)
	}
	return j.parts[i].Speaker, nil
}

// Announce implements Speaker.
func (j *joined) Announce(ctx context.Context, session string, sets []Routes) (Sent, error) {
	s, err := j.of(session)
	if err != nil {
		return Sent{}, err
	}
	return s.Announce(ctx, session, sets)
}

// Withdraw implements Speaker.
func (j *joined) Withdraw(ctx context.Context, session string, sets []Routes) (Sent, error) {
	s, err := j.of(session)
	if err != nil {
		return Sent{}, err
	}
	return s.Withdraw(ctx, session, sets)
}

// Await implements Speaker.
func (j *joined) Await(ctx context.Context, session string, want Table) (Learnt, error) {
	s, err := j.of(session)
	if err != nil {
		return Learnt{}, err
	}
	return s.Await(ctx, session, want)
}

// Refresh implements Speaker.
func (j *joined) Refresh(ctx context.Context, session string) (Refreshed, error) {
	s, err := j.of(session)
	if err != nil {
		return Refreshed{}, err
	}
	return s.Refresh(ctx, session)
}

// Learnt implements Speaker.
func (j *joined) Learnt(ctx context.Context, session string) (Learnt, error) {
	s, err := j.of(session)
	if err != nil {
		return Learnt{}, err
	}
	return s.Learnt(ctx, session)
}

// forgotten is the cause of a session that its part does not know.
const forgotten = "its agent was started again, or lost the connection to its controller"

// States implements Speaker.
func (j *joined) States(ctx context.Context) ([]State, error) {
	j.mu.Lock()
	sessions, home := j.sessions, j.home
	j.mu.Unlock()
	known, silent := make([]map[string]State, len(j.parts)), make([]error, len(j.parts))
	var asking sync.WaitGroup
	for i, p := range j.parts {
		asking.Go(func() {
			var states []State
			states, silent[i] = p.Speaker.States(ctx)
			known[i] = make(map[string]State, len(states))
			for _, s := range states {
				known[i][s.Session] = s
			}
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all := make([]State, 0, len(sessions))
	for _, s := range sessions {
		i := home[s.Name]
		state, has := known[i][s.Name]
		switch {
		case silent[i] != nil:
			state = State{Session: s.Name, Cause: silent[i].Error()}
		case !has:
			state = State{Session: s.Name, Cause: forgotten}
		}
		all = append(all, state)
	}
	return all, nil
}

// Close implements Speaker.
func (j *joined) Close() error {
	j.mu.Lock()
	j.sessions, j.home = nil, nil
	j.mu.Unlock()
	errs := make([]error, len(j.parts))
	var closing sync.WaitGroup
	for i, p := range j.parts {
		closing.Go(func() { errs[i] = p.Speaker.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}
