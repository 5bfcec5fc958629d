package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Service is a service that an agent offers in addition to its engine. It is served on the
// same connection, to the same controller.
type Service interface {
	// Register adds the service to the agent's server.
	Register(grpc.ServiceRegistrar)
	// End ends what a controller began. It is called when no call of it runs any more, and
	// before another controller comes.
	End() error
}

// furtherServices are the services next to the engine, and their calls.
type furtherServices struct {
	all      []Service
	sessions *sessions
	// serving is held by calls of the services, each with 1.
	serving *semaphore.Weighted
}

// halt ends what an earlier controller began, once no call runs.
func (f *furtherServices) halt(ctx context.Context) error {
	if err := f.serving.Acquire(ctx, exclusive); err != nil {
		return fmt.Errorf("ending what an earlier controller began: a call did not return: %w", err)
	}
	defer f.serving.Release(exclusive)
	var failed error
	for _, service := range f.all {
		failed = errors.Join(failed, service.End())
	}
	return failed
}

// enter lets a call of a further service in, for the present session. Its context ends
// with the call and with the session; leave is called when it has returned.
func (f *furtherServices) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	session, err := f.sessions.of(ctx)
	if err != nil {
		return nil, nil, toStatus(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(session.ctx, cancel)
	leave = func() { stop(); cancel() }
	if err := f.serving.Acquire(ctx, 1); err != nil {
		leave()
		return nil, nil, toStatus(err)
	}
	leave = func() { f.serving.Release(1); stop(); cancel() }
	// The end of a session waits for calls, and ends the services then; a call that came
	// in later must not begin anything.
	if session.ctx.Err() != nil {
		leave()
		return nil, nil, toStatus(errNoSession)
	}
	return ctx, leave, nil
}

// ofService reports whether a method is not one of the Generator, whose calls look after
// themselves.
func ofService(method string) bool {
	return !strings.HasPrefix(method, "/"+agentpb.Agent_ServiceDesc.ServiceName+"/")
}

func (f *furtherServices) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if !ofService(info.FullMethod) {
		return handle(ctx, request)
	}
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := handle(ctx, request)
	if _, has := status.FromError(err); !has {
		err = toStatus(err) // of an engine, which knows no codes
	}
	return answer, err
}

func (f *furtherServices) streaming(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if !ofService(info.FullMethod) {
		return handle(server, stream)
	}
	ctx, leave, err := f.enter(stream.Context())
	if err != nil {
		return err
	}
	defer leave()
	return handle(server, &sessionStream{stream, ctx})
}

// sessionStream is a stream whose context ends with the session.
type sessionStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *sessionStream) Context() context.Context { return s.ctx }

// Conn carries calls of the agent's further services, in the session of the client. Like
// other calls of the client it connects anew after an interruption: the services have
// forgotten what was begun before.
func (c *Client) Conn() grpc.ClientConnInterface { return clientConn{&c.link} }

// Name of the agent.
func (c *Client) Name() string { return c.link.endpoint.Name }

// Ports of the bed that the agent owns.
func (c *Client) Ports() []string { return c.link.endpoint.Ports }

// Members are the clients of the agents.
func (f *Fleet) Members() []*Client { return f.members }

// clientConn is the connection of a client for further services.
type clientConn struct{ link *connection }

// in is the context of a call in the present session. Finish ends what belongs to the
// call; it is called with its error, once at least.
func (c clientConn) in(ctx context.Context) (_ context.Context, finish func(error), _ error) {
	s, err := c.link.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, tokenKey, s.token))
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func(err error) {
		stop()
		cancel()
		if failed := fromStatus(err); errors.Is(failed, errNoSession) || errors.Is(failed, errUnavailable) {
			s.end(failed)
		}
	}, nil
}

// Invoke implements grpc.ClientConnInterface. It fails with traffic.ErrInterrupted if the session broke in the call.
func (c clientConn) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	inSession, finish, err := c.in(ctx)
	if err != nil {
		return err
	}
	err = c.link.conn.Invoke(inSession, method, request, answer, options...)
	finish(err)
	err = fromStatus(err)
	if ctx.Err() == nil && (errors.Is(err, errNoSession) || errors.Is(err, errUnavailable) || errors.Is(err, context.Canceled)) {
		return &InterruptedError{Agent: c.link.endpoint.Name, Cause: err}
	}
	return err
}

// NewStream implements grpc.ClientConnInterface.
func (c clientConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, finish, err := c.in(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := c.link.conn.NewStream(ctx, desc, method, append(options, grpc.OnFinish(finish))...)
	if err != nil {
		finish(err)
		return nil, fromStatus(err)
	}
	return &clientStream{stream}, nil
}

// clientStream is a stream that returns the errors of the server.
type clientStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(m any) error { return fromStatus(s.ClientStream.RecvMsg(m)) }
