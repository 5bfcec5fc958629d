package remote

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"nodrop.dev/nodrop/internal/workload"
)

// Server lends an engine to one runner. It is an agent.Service.
type Server struct {
	open func() (workload.Engine, error)
	// using is held by the call in hand: an engine takes one call after the other.
	using *semaphore.Weighted
	// engine is open from the first call to the end of the session, and nil otherwise.
	engine workload.Engine
}

// NewServer returns a server for an engine, which is opened when it is needed first in a session.
func NewServer(open func() (workload.Engine, error)) *Server {
	return &Server{open: open, using: semaphore.NewWeighted(1)}
}

// Register implements agent.Service.
func (s *Server) Register(r grpc.ServiceRegistrar) { r.RegisterService(&description, s) }

// use returns the engine to a call, which gives it back by leave.
func (s *Server) use(ctx context.Context) (workload.Engine, error) {
	if err := s.using.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if s.engine == nil {
		engine, err := s.open()
		if err != nil {
			s.leave()
			return nil, err
		}
		s.engine = engine
	}
	return s.engine, nil
}

func (s *Server) leave() { s.using.Release(1) }

// End implements agent.Service: it removes all hosts.
func (s *Server) End() error {
	_ = s.using.Acquire(context.Background(), 1) // No call runs any more.
	defer s.leave()
	if s.engine == nil {
		return nil
	}
	err := s.engine.Close()
	s.engine = nil
	if err != nil {
		return fmt.Errorf("removing the hosts: %w", err)
	}
	return nil
}
