package trex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// The states of a profile, and of the server, as sync returns them.
const (
	astfIdle, astfLoaded          = 0, 1
	astfParse, astfBuild, astfRun = 2, 3, 4
)

const (
	// astfStateTimeout bounds the wait for a state. The server parses and builds a profile in between.
	astfStateTimeout = 30 * time.Second
	// astfStateEvery is the interval between requests for the state.
	astfStateEvery = 10 * time.Millisecond
	// notOwner is the server's answer to calls of a session that has not got the ports any more.
	notOwner = "must acquire the context for this operation"
	// eventProfile is the type of an event about the state of a profile, with an error if there was one.
	eventProfile = 60
)

// open agrees on the API with the server, takes all its ports, and removes what is loaded.
func (e *ASTF) open(ctx context.Context) error {
	s := &e.server
	if err := s.handshake(ctx); err != nil {
		return err
	}
	if s.system.Cores > 1 {
		return fmt.Errorf("TRex at %s sends with %d processors, and each needs an address for clients of its own: start it with -c 1", s.client.endpoint, s.system.Cores)
	}
	for i, o := range s.options.Ports {
		if o.Index != i {
			return fmt.Errorf("port %s is TRex port %d: clients are on port 0 and servers on port 1 of the server: give it index %d", o.Name, o.Index, i)
		}
		p, err := newPort(o, s.system, &s.client)
		if err != nil {
			return err
		}
		s.ports = append(s.ports, p)
	}
	if err := e.acquire(ctx); err != nil {
		return err
	}
	if err := e.clear(ctx); err != nil {
		return err
	}
	return e.describe(ctx)
}

// acquire takes all ports of the server.
func (e *ASTF) acquire(ctx context.Context) error {
	s := &e.server
	var got struct {
		Context string            `json:"handler"`
		Ports   map[string]string `json:"ports"`
	}
	err := s.client.call(ctx, "acquire", params{"force": s.options.Force, "user": s.options.User, "session_id": s.session}, &got)
	if err != nil {
		return fmt.Errorf("taking the ports of TRex at %s: %w; let their owner release them, or take them by force", s.client.endpoint, err)
	}
	e.context = got.Context
	for _, p := range s.ports {
		p.context, p.handler = got.Context, got.Ports[strconv.Itoa(p.index())]
	}
	return nil
}

// ready opens another session if the present one was lost, or takes the ports again if another session took them.
func (e *ASTF) ready(ctx context.Context) error {
	if e.server.client.lost != nil {
		return e.server.reconnect(ctx, func(ctx context.Context, _ []*port) error { return e.open(ctx) })
	}
	if e.context != "" {
		return nil
	}
	if err := e.acquire(ctx); err != nil {
		return err
	}
	for _, p := range e.server.ports {
		p.neighbours.last = neighbour{} // the other session may have changed it
	}
	return e.clear(ctx)
}

// owned turns the server's refusal of a session without ports into an interruption.
func (e *ASTF) owned(err error) error {
	if refused := (*ServerError)(nil); !errors.As(err, &refused) || refused.Specific != notOwner {
		return err
	}
	e.context = ""
	return fmt.Errorf("%w: another session took the ports of TRex at %s: %w", traffic.ErrInterrupted, e.server.client.endpoint, err)
}

// call calls a method that needs the ports.
func (e *ASTF) call(ctx context.Context, method string, p params) error {
	all := params{"handler": e.context}
	maps.Copy(all, p)
	return e.owned(e.server.client.call(ctx, method, all, nil))
}

// synced is the answer of sync.
type synced struct {
	State    int            `json:"state"`
	Profiles map[string]int `json:"state_profile"`
}

// syncCall asks for the states of the server and of its profiles.
var syncCall = call{"sync", params{"profile_id": "sync"}}

// sync reads the states of the server and of its profiles.
func (e *ASTF) sync(ctx context.Context) (s synced, err error) {
	return s, e.server.client.call(ctx, syncCall.method, syncCall.params, &s)
}

// await waits until a profile is in one of some states.
func (e *ASTF) await(ctx context.Context, id string, wanted ...int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, astfStateTimeout, fmt.Errorf("it took longer than %s", astfStateTimeout))
	defer cancel()
	for {
		s, err := e.sync(ctx)
		if err != nil {
			return err
		}
		state, has := s.Profiles[id]
		if !has {
			state = astfIdle // removed
		}
		if slices.Contains(wanted, state) {
			return nil
		}
		if err := e.server.clock.Sleep(ctx, astfStateEvery); err != nil {
			return fmt.Errorf("waiting for state %v of profile %s of TRex, which is in state %d: %w", wanted, id, state, context.Cause(ctx))
		}
	}
}

// clear stops and removes all profiles. It needs the ports.
func (e *ASTF) clear(ctx context.Context) error {
	s, err := e.sync(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.Profiles)) {
		at := params{"profile_id": id}
		if s.Profiles[id] != astfIdle && s.Profiles[id] != astfLoaded {
			// The server ignores stop until the profile runs.
			if err := e.await(ctx, id, astfRun, astfLoaded, astfIdle); err != nil {
				return err
			}
			if err := e.call(ctx, "stop", at); err != nil {
				return err
			}
			if err := e.await(ctx, id, astfLoaded, astfIdle); err != nil {
				return err
			}
		}
		if err := e.call(ctx, "profile_clear", at); err != nil {
			return err
		}
		if err := e.await(ctx, id, astfIdle); err != nil {
			return err
		}
	}
	return nil
}

// release removes all profiles and gives the ports back.
func (e *ASTF) release(ctx context.Context) error {
	if e.context == "" {
		return nil
	}
	err := errors.Join(e.clear(ctx), e.call(ctx, "release", nil))
	e.context = ""
	return err
}

// problem returns the last error of the profile since the last call; empty if there was none.
func (e *ASTF) problem(ctx context.Context) (text string, err error) {
	var answer struct {
		Data []struct {
			Type int `json:"type"`
			Data struct {
				Profile string `json:"profile_id"`
				Error   string `json:"error"`
			} `json:"data"`
		} `json:"data"`
	}
	err = e.server.client.call(ctx, "get_async_events", params{"session_id": e.server.session, "user": e.server.options.User}, &answer)
	for _, event := range answer.Data {
		if event.Type == eventProfile && event.Data.Error != "" {
			text = event.Data.Error
		}
	}
	return text, err
}
