package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// tokenKey is the metadata key that carries the session's token.
const tokenKey = "nodrop-session"

// stopTimeout bounds the stop of the sending when a session ends.
const stopTimeout = 10 * time.Second

// session is the time in which one controller has the agent.
type session struct {
	token string
	peer  string
	// ctx ends when the controller goes.
	ctx context.Context
	// configured is guarded by the server's use.
	configured bool
}

// sessions holds the present session, if any.
type sessions struct {
	mu      sync.Mutex
	present *session
}

func (s *sessions) open(ctx context.Context) (*session, error) {
	from := "unknown"
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present != nil {
		return nil, fmt.Errorf("opening a session: %w, from %s", ErrBusy, s.present.peer)
	}
	s.present = &session{token: rand.Text(), peer: from, ctx: ctx}
	return s.present, nil
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = nil
}

// of returns the session that a call belongs to.
func (s *sessions) of(ctx context.Context) (*session, error) {
	tokens := metadata.ValueFromIncomingContext(ctx, tokenKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil || len(tokens) != 1 || tokens[0] != s.present.token {
		return nil, errNoSession
	}
	return s.present, nil
}

// Open holds a session for as long as the caller stays.
func (s *Server) Open(_ *agentpb.OpenRequest, beats agentpb.Agent_OpenServer) error {
	ctx, cancel := context.WithCancel(beats.Context())
	session, err := s.gate.sessions.open(ctx)
	if err != nil {
		cancel()
		return toStatus(err)
	}
	s.options.Log.Info("controller connected", "peer", session.peer)
	defer s.end(session, cancel)

	// What an earlier session could not stop must be stopped before anything else.
	if err := s.halt(); err != nil {
		return toStatus(err)
	}
	if err := beats.Send(&agentpb.Beat{Token: session.token, Instance: s.instance, Abilities: s.engine.abilities()}); err != nil {
		return err
	}
	ticker := time.NewTicker(s.options.Beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := beats.Send(&agentpb.Beat{}); err != nil {
				return err
			}
		case <-ctx.Done():
			return toStatus(ctx.Err())
		case <-s.stop:
			return toStatus(errNoSession)
		}
	}
}

// end closes a session once nothing is sent for it any more: calls in flight are
// canceled, then sending stops, and only then may the next controller come.
func (s *Server) end(session *session, cancel context.CancelFunc) {
	cancel()
	if err := s.halt(); err != nil {
		s.options.Log.Error("sending could not be stopped", "error", err)
	}
	s.gate.sessions.close()
	s.options.Log.Info("controller gone, sending stopped", "peer", session.peer)
}

// halt stops the sending and ends the further services.
func (s *Server) halt() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(s.haltEngine(ctx), s.services.halt(ctx))
}

func (s *Server) haltEngine(ctx context.Context) error {
	if err := s.gate.use.Acquire(ctx, exclusive); err != nil {
		return fmt.Errorf("stopping what an earlier controller started: the engine did not return: %w", err)
	}
	defer s.gate.use.Release(exclusive)
	if err := s.engine.gen.Stop(ctx); err != nil {
		return fmt.Errorf("stopping what an earlier controller started: %w", err)
	}
	if err := s.joined.leaveAll(ctx, s.engine.members); err != nil {
		return fmt.Errorf("leaving the groups that an earlier controller joined: %w", err)
	}
	return nil
}
