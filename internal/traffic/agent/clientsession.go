package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// reconnect is impatient: the peer is one pod of the same cluster, and a bed
// waits for it.
var reconnect = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// retryEvery is the interval between requests to an agent that is busy or away.
const retryEvery = 200 * time.Millisecond

// connection is the connection of a client to its agent, and the sessions in which the client
// is the agent's controller.
type connection struct {
	endpoint Endpoint
	options  ClientOptions
	conn     *grpc.ClientConn
	rpc      agentpb.AgentClient

	mu sync.Mutex
	// present is the last session, which may have ended.
	present *clientSession
	// configured is the session in which the streams were given.
	configured *clientSession
	// opening lets one call at a time open a session.
	opening *semaphore.Weighted
}

// clientSession is the time in which the client is the agent's controller.
type clientSession struct {
	// ctx ends, with a cause, when the session does.
	ctx             context.Context
	end             context.CancelCauseFunc
	token, instance string
	// abilities are the optional interfaces that the agent's engine has.
	abilities []string
}

// session returns the present session, or opens another one.
func (c *connection) session(ctx context.Context) (*clientSession, error) {
	if err := c.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.opening.Release(1)
	old := c.last()
	if old != nil && old.ctx.Err() == nil {
		return old, nil
	}
	if old != nil {
		if errors.Is(context.Cause(old.ctx), errClosed) {
			return nil, errClosed
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.ReturnTimeout)
		defer cancel()
	}
	s, err := c.open(ctx)
	if err != nil {
		if old == nil || errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s did not come back: %w", ErrLost, c.endpoint.Name, err)
	}
	c.options.Log.Info("session opened", "agent", c.endpoint.Name, "restarted", old != nil && old.instance != s.instance)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = s
	return s, nil
}

// open asks for a session until it gets one or ctx ends.
func (c *connection) open(ctx context.Context) (*clientSession, error) {
	var last error
	for {
		s, err := c.openOnce(ctx)
		if err == nil {
			return s, nil
		}
		// The end of ctx itself says nothing; what was wrong before it does.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), last)
		case <-time.After(retryEvery):
		}
	}
}

func (c *connection) openOnce(ctx context.Context) (*clientSession, error) {
	life, end := context.WithCancelCause(context.Background())
	beats, err := c.rpc.Open(life, &agentpb.OpenRequest{})
	if err != nil {
		end(err)
		return nil, fromStatus(err)
	}
	type answer struct {
		beat *agentpb.Beat
		err  error
	}
	first := make(chan answer, 1)
	go func() {
		beat, err := beats.Recv()
		first <- answer{beat, err}
	}()
	// An agent that is alive may have to stop the engine first, which is bounded.
	patience := time.NewTimer(stopTimeout + c.options.Grace)
	defer patience.Stop()
	select {
	case a := <-first:
		if a.err != nil {
			end(a.err)
			return nil, fromStatus(a.err)
		}
		s := &clientSession{ctx: life, end: end, token: a.beat.GetToken(), instance: a.beat.GetInstance(), abilities: a.beat.GetAbilities()}
		go s.watch(beats, c.options.Grace)
		return s, nil
	case <-patience.C:
		end(errSilent)
		return nil, errSilent
	case <-ctx.Done():
		end(ctx.Err())
		return nil, ctx.Err()
	}
}

var errSilent = errors.New("it did not answer")

// watch ends the session when the beats do.
func (s *clientSession) watch(beats agentpb.Agent_OpenClient, grace time.Duration) {
	silence := time.AfterFunc(grace, func() { s.end(fmt.Errorf("no sign of life for %s", grace)) })
	defer silence.Stop()
	for {
		if _, err := beats.Recv(); err != nil {
			s.end(fromStatus(err))
			return
		}
		silence.Reset(grace)
	}
}

// doTrial runs a call that belongs to the trial of the configured streams.
func (c *connection) doTrial(ctx context.Context, doing string, f func(context.Context, *clientSession) error) error {
	return c.do(ctx, doing, func(ctx context.Context, s *clientSession) error {
		c.mu.Lock()
		configured := c.configured
		c.mu.Unlock()
		if configured != nil && configured != s {
			return &InterruptedError{Agent: c.endpoint.Name, Restarted: configured.instance != s.instance, Cause: context.Cause(configured.ctx)}
		}
		return f(ctx, s)
	})
}

// concurrent runs a call while others run, in the session in which the streams were given.
// It neither opens a session nor ends one: that is left to the other calls.
func (c *connection) concurrent(ctx context.Context, doing string, f func(context.Context) error) error {
	c.mu.Lock()
	s, configured := c.present, c.configured
	c.mu.Unlock()
	if s != configured || s.ctx.Err() != nil {
		return &InterruptedError{Agent: c.endpoint.Name}
	}
	return c.in(ctx, s, doing, func(ctx context.Context, _ *clientSession) error { return f(ctx) }, func(error) {})
}

// do runs a call in the present session, or in a new one when that broke.
func (c *connection) do(ctx context.Context, doing string, f func(context.Context, *clientSession) error) error {
	s, err := c.session(ctx)
	if err != nil {
		return fmt.Errorf("agent %s: %s: %w", c.endpoint.Name, doing, err)
	}
	return c.in(ctx, s, doing, f, s.end)
}

// in runs a call in a session and tells a broken session from a failed call. It calls
// broken when the call shows that the session broke.
func (c *connection) in(ctx context.Context, s *clientSession, doing string, f func(context.Context, *clientSession) error, broken func(error)) error {
	callCtx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, tokenKey, s.token))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	err := f(callCtx, s)
	if err == nil || errors.Is(err, traffic.ErrInterrupted) {
		return err
	}
	err = fromStatus(err)
	switch {
	case ctx.Err() != nil:
		// The caller gave up; what the call says is only an echo of that, unless the
		// agent still answered.
		var unresolved *traffic.UnresolvedError
		if !errors.As(err, &unresolved) {
			err = ctx.Err()
		}
	case errors.Is(err, errNoSession), errors.Is(err, errUnavailable), errors.Is(err, context.Canceled):
		// The cancellation does not come from this side: the agent is going down.
		broken(err)
		return &InterruptedError{Agent: c.endpoint.Name, Cause: err}
	case s.ctx.Err() != nil:
		return &InterruptedError{Agent: c.endpoint.Name, Cause: context.Cause(s.ctx)}
	}
	return fmt.Errorf("agent %s: %s: %w", c.endpoint.Name, doing, err)
}

// last returns the last session, which may have ended.
func (c *connection) last() *clientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

// configuredIn notes the session in which the streams were given.
func (c *connection) configuredIn(s *clientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.configured = s
}

// connected reports whether the client is the agent's controller now.
func (c *connection) connected() bool {
	s := c.last()
	return s != nil && s.ctx.Err() == nil
}
