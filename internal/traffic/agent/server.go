package agent

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Port is the TCP port on which agents listen.
const Port = 7443

// ServerOptions tune a server. Pods use the zero value.
type ServerOptions struct {
	// Beat is the interval at which the agent shows a controller that it lives; 0 means
	// 1 s.
	Beat time.Duration
	// Grace is the time for which a silent controller counts as alive, at least 2 s; 0
	// means 10 s, because a tester that sends at its limit leaves little processor time
	// for other tasks. A controller whose process died is noticed at once.
	Grace time.Duration
	// Services next to the engine.
	Services []Service
	// Log of sessions; nil discards it.
	Log *slog.Logger
}

func (o ServerOptions) withDefaults() ServerOptions {
	if o.Beat == 0 {
		o.Beat = time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// exclusive is the weight of a call that excludes all others, of which those that may
// run side by side have 1 each.
const exclusive = 1 << 30

// Server lends a Generator to one controller at a time.
type Server struct {
	agentpb.UnimplementedAgentServer

	engine   engine
	options  ServerOptions
	instance string
	gate     gate
	services furtherServices
	joined   serverMemberships
	stop     chan struct{}
	stopOnce sync.Once
}

// engine is the generator that the server lends, with its optional interfaces.
type engine struct {
	gen traffic.Generator
	// The optional interfaces of gen; nil where it has none.
	sampler    traffic.Sampler
	reporter   traffic.ProgressReporter
	members    traffic.GroupMember
	armer      traffic.Armer
	microflows traffic.MicroflowCounter
}

// gate lets the calls of the present session to the engine.
type gate struct {
	sessions sessions
	// use keeps calls apart: a Generator is used by one goroutine at a time, but for
	// the calls that may run while it waits.
	use *semaphore.Weighted
}

// NewServer makes a server around a generator. The generator stays the caller's:
// Close stops its sending and does not close it.
func NewServer(gen traffic.Generator, o ServerOptions) *Server {
	s := &Server{
		engine:   engine{gen: gen},
		options:  o.withDefaults(),
		instance: rand.Text(),
		gate:     gate{use: semaphore.NewWeighted(exclusive)},
		stop:     make(chan struct{}),
	}
	s.services = furtherServices{all: s.options.Services, sessions: &s.gate.sessions, serving: semaphore.NewWeighted(exclusive)}
	s.engine.sampler, _ = traffic.As[traffic.Sampler](gen)
	s.engine.reporter, _ = traffic.As[traffic.ProgressReporter](gen)
	s.engine.members, _ = traffic.As[traffic.GroupMember](gen)
	s.engine.microflows, _ = traffic.As[traffic.MicroflowCounter](gen)
	s.engine.armer, _ = traffic.As[traffic.Armer](gen)
	return s
}

// Serve answers on a listener until Close. When it returns, nothing is sent any
// more.
func (s *Server) Serve(l net.Listener, t *tls.Config) error {
	// A third of the grace passes in silence, then a ping has the rest of it.
	quiet := s.options.Grace / 3
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(t)),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: quiet, Timeout: s.options.Grace - quiet}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(s.services.unary),
		grpc.StreamInterceptor(s.services.streaming),
	)
	agentpb.RegisterAgentServer(server, s)
	for _, service := range s.options.Services {
		service.Register(server)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-s.stop
		server.Stop()
	}()
	err := server.Serve(l)
	s.Close()
	<-stopped
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	}
	return nil
}

// Close ends the session and lets Serve return. It may be called more than once.
func (s *Server) Close() {
	s.stopOnce.Do(func() { close(s.stop) })
}

// call runs f with the generator for the present session, while no other call runs.
// The context of f ends with the call and with the session.
func (g *gate) call(ctx context.Context, f func(context.Context, *session) error) error {
	return g.weigh(ctx, exclusive, f)
}

// concurrent is call for what may run at the same time as other calls of its kind: Wait,
// Sample, Progress, Microflows, Join and Leave.
func (g *gate) concurrent(ctx context.Context, f func(context.Context, *session) error) error {
	return g.weigh(ctx, 1, f)
}

func (g *gate) weigh(ctx context.Context, weight int64, f func(context.Context, *session) error) error {
	session, err := g.sessions.of(ctx)
	if err != nil {
		return toStatus(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.ctx, cancel)()
	if err := g.use.Acquire(ctx, weight); err != nil {
		return toStatus(err)
	}
	defer g.use.Release(weight)
	// Ending a session waits for the generator before it stops it; a call that got the
	// generator later must not begin anything.
	if session.ctx.Err() != nil {
		return toStatus(errNoSession)
	}
	err = f(ctx, session)
	if err != nil && session.ctx.Err() != nil {
		err = errNoSession
	}
	return toStatus(err)
}

// Info implements the wire form of Generator.
func (s *Server) Info(ctx context.Context, _ *agentpb.InfoRequest) (response *agentpb.InfoResponse, err error) {
	err = s.gate.call(ctx, func(ctx context.Context, _ *session) error {
		info, err := s.engine.gen.Info(ctx)
		if err != nil {
			return err
		}
		response = infoToWire(info)
		return nil
	})
	return response, err
}

// Resolve implements the wire form of Generator.
func (s *Server) Resolve(ctx context.Context, r *agentpb.ResolveRequest) (response *agentpb.ResolveResponse, err error) {
	addr, ok := netip.AddrFromSlice(r.GetAddr())
	if !ok {
		return nil, toStatus(fmt.Errorf("resolving on port %s: an address has %d bytes", r.GetPort(), len(r.GetAddr())))
	}
	err = s.gate.call(ctx, func(ctx context.Context, _ *session) error {
		if r.GetTimeoutNanos() > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(r.GetTimeoutNanos()))
			defer cancel()
		}
		mac, err := s.engine.gen.Resolve(ctx, r.GetPort(), addr)
		response = &agentpb.ResolveResponse{Mac: mac[:]}
		return err
	})
	return response, err
}

// Configure implements the wire form of Generator.
func (s *Server) Configure(parts agentpb.Agent_ConfigureServer) error {
	var streams []traffic.Stream
	for {
		part, err := parts.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for _, w := range part.GetStreams() {
			stream, err := streamFromWire(w)
			if err != nil {
				return toStatus(err)
			}
			streams = append(streams, stream)
		}
	}
	err := s.gate.call(parts.Context(), func(ctx context.Context, session *session) error {
		// What an interrupted trial still sends must not reach the next one.
		if err := s.engine.gen.Stop(ctx); err != nil {
			return err
		}
		session.configured = false
		if err := s.engine.gen.Configure(ctx, streams); err != nil {
			return err
		}
		session.configured = true
		return nil
	})
	if err != nil {
		return err
	}
	return parts.SendAndClose(&agentpb.ConfigureResponse{})
}

// Arm is the wire form of traffic.Armer.
func (s *Server) Arm(parts agentpb.Agent_ArmServer) error {
	trial, err := trialFromWire(parts.Recv)
	if err != nil {
		return err
	}
	err = s.gate.call(parts.Context(), func(ctx context.Context, session *session) error {
		if s.engine.armer == nil {
			return fmt.Errorf("arming the engine: it cannot be joined with others: %w", traffic.ErrUnsupported)
		}
		return s.engine.armer.Arm(ctx, trial)
	})
	if err != nil {
		return err
	}
	return parts.SendAndClose(&agentpb.ArmResponse{})
}

// Start implements the wire form of Generator.
func (s *Server) Start(parts agentpb.Agent_StartServer) error {
	trial, err := trialFromWire(parts.Recv)
	if err != nil {
		return err
	}
	err = s.gate.call(parts.Context(), func(ctx context.Context, session *session) error {
		if !session.configured {
			return errors.New("starting a trial: no streams are configured in this session")
		}
		return s.engine.gen.Start(ctx, trial)
	})
	if err != nil {
		return err
	}
	return parts.SendAndClose(&agentpb.StartResponse{})
}

// Wait implements the wire form of Generator.
func (s *Server) Wait(ctx context.Context, _ *agentpb.WaitRequest) (*agentpb.WaitResponse, error) {
	return &agentpb.WaitResponse{}, s.gate.concurrent(ctx, func(ctx context.Context, _ *session) error { return s.engine.gen.Wait(ctx) })
}

// Stop implements the wire form of Generator.
func (s *Server) Stop(ctx context.Context, _ *agentpb.StopRequest) (*agentpb.StopResponse, error) {
	return &agentpb.StopResponse{}, s.gate.call(ctx, func(ctx context.Context, _ *session) error { return s.engine.gen.Stop(ctx) })
}

// Read implements the wire form of Generator.
func (s *Server) Read(_ *agentpb.ReadRequest, parts agentpb.Agent_ReadServer) error {
	return s.gate.call(parts.Context(), func(ctx context.Context, _ *session) error {
		m, err := s.engine.gen.Read(ctx)
		if err != nil {
			return err
		}
		return measurementToWire(m, parts.Send)
	})
}
