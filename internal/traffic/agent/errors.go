package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// ErrBusy means that another controller holds the agent and is alive.
var ErrBusy = errors.New("another controller holds the agent")

// ErrLost is traffic.ErrLost: an agent did not come back in time.
var ErrLost = traffic.ErrLost

// errNoSession means that a call belongs to a session that has ended.
var errNoSession = errors.New("the session has ended")

// InterruptedError reports that an agent lost the current trial. It matches
// traffic.ErrInterrupted.
type InterruptedError struct {
	// Agent is the agent's name.
	Agent string
	// Restarted reports whether the agent's process is another one than before; otherwise
	// only the connection broke, or that is not known yet.
	Restarted bool
	// Cause of a broken connection, or nil.
	Cause error
}

// Error names the agent and what happened to it.
func (e *InterruptedError) Error() string {
	switch {
	case e.Restarted:
		return fmt.Sprintf("agent %s restarted, its counters are gone: the trial has to be repeated", e.Agent)
	case e.Cause != nil:
		return fmt.Sprintf("the connection to agent %s broke: the trial has to be repeated: %v", e.Agent, e.Cause)
	default:
		return fmt.Sprintf("the connection to agent %s broke: the trial has to be repeated", e.Agent)
	}
}

// Is makes every InterruptedError a traffic.ErrInterrupted.
func (e *InterruptedError) Is(target error) bool { return target == traffic.ErrInterrupted }

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Cause }

// toStatus gives an error the form in which it survives the wire.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	var failure agentpb.Failure
	code := codes.Unknown
	var unresolved *traffic.UnresolvedError
	switch {
	case errors.As(err, &unresolved):
		code = codes.NotFound
		failure.Kind = &agentpb.Failure_Unresolved{Unresolved: &agentpb.Unresolved{Port: unresolved.Port, Addr: unresolved.Addr.AsSlice()}}
	case errors.Is(err, ErrBusy):
		code = codes.FailedPrecondition
		failure.Kind = &agentpb.Failure_Busy{Busy: true}
	case errors.Is(err, errNoSession):
		code = codes.FailedPrecondition
		failure.Kind = &agentpb.Failure_NoSession{NoSession: true}
	case errors.Is(err, traffic.ErrInterrupted):
		code = codes.Aborted
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, traffic.ErrUnsupported):
		code = codes.Unimplemented
	}
	s := status.New(code, err.Error())
	if failure.Kind == nil {
		return s.Err()
	}
	detailed, detailErr := s.WithDetails(&failure)
	if detailErr != nil {
		return s.Err()
	}
	return detailed.Err()
}

// fromStatus turns an error of a call back into what the server returned.
func fromStatus(err error) error {
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.OK {
		return err
	}
	for _, detail := range s.Details() {
		failure, ok := detail.(*agentpb.Failure)
		if !ok {
			continue
		}
		switch kind := failure.GetKind().(type) {
		case *agentpb.Failure_Unresolved:
			addr, _ := netip.AddrFromSlice(kind.Unresolved.GetAddr())
			return &traffic.UnresolvedError{Port: kind.Unresolved.GetPort(), Addr: addr}
		case *agentpb.Failure_Busy:
			return &remoteError{text: s.Message(), kind: ErrBusy}
		case *agentpb.Failure_NoSession:
			return &remoteError{text: s.Message(), kind: errNoSession}
		}
	}
	switch s.Code() {
	case codes.Canceled:
		return &remoteError{text: s.Message(), kind: context.Canceled}
	case codes.DeadlineExceeded:
		return &remoteError{text: s.Message(), kind: context.DeadlineExceeded}
	case codes.Unimplemented:
		return &remoteError{text: s.Message(), kind: traffic.ErrUnsupported}
	case codes.Aborted:
		return &remoteError{text: s.Message(), kind: traffic.ErrInterrupted}
	case codes.Unavailable:
		return &remoteError{text: s.Message(), kind: errUnavailable}
	}
	return &remoteError{text: s.Message()}
}

// errUnavailable means that no connection carried the call.
var errUnavailable = errors.New("unavailable")

// remoteError is an error of the other end: its text, without gRPC's prefix, and
// what it is for errors.Is.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }
