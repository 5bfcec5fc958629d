package remote

import (
	"context"
	"errors"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
)

// failureToWire writes an error with what keeps its type; nil for none.
func failureToWire(err error) *speakerpb.Failure {
	if err == nil {
		return nil
	}
	f := &speakerpb.Failure{Text: err.Error()}
	var down *routing.DownError
	var unlearned *routing.UnlearnedError
	switch {
	case errors.As(err, &down):
		f.Kind = &speakerpb.Failure_Down{Down: &speakerpb.Down{Protocol: string(down.Protocol), Session: down.Session, Port: down.Port, Cause: down.Cause, Final: down.Final}}
	case errors.As(err, &unlearned):
		f.Kind = &speakerpb.Failure_Unlearned{Unlearned: &speakerpb.Unlearned{Protocol: string(unlearned.Protocol), Session: unlearned.Session, Want: tableToWire(unlearned.Want), Got: tableToWire(unlearned.Got)}}
	case errors.Is(err, context.DeadlineExceeded):
		f.Kind = &speakerpb.Failure_Deadline{Deadline: true}
	case errors.Is(err, context.Canceled):
		f.Kind = &speakerpb.Failure_Cancelled{Cancelled: true}
	}
	return f
}

// failureFromWire is the error that the agent's speaker returned to a call with a
// context. Where it ended the wait because the caller's context did, the error is also
// that of the context.
func failureFromWire(ctx context.Context, f *speakerpb.Failure) error {
	if f == nil {
		return nil
	}
	e := &remoteError{text: f.GetText()}
	switch kind := f.GetKind().(type) {
	case *speakerpb.Failure_Down:
		e.kind = &routing.DownError{Protocol: routing.Protocol(kind.Down.GetProtocol()), Session: kind.Down.GetSession(), Port: kind.Down.GetPort(), Cause: kind.Down.GetCause(), Final: kind.Down.GetFinal()}
	case *speakerpb.Failure_Unlearned:
		e.kind = &routing.UnlearnedError{Protocol: routing.Protocol(kind.Unlearned.GetProtocol()), Session: kind.Unlearned.GetSession(), Want: tableFromWire(kind.Unlearned.GetWant()), Got: tableFromWire(kind.Unlearned.GetGot())}
	case *speakerpb.Failure_Deadline:
		e.kind = context.DeadlineExceeded
	case *speakerpb.Failure_Cancelled:
		if e.kind = context.Canceled; ctx.Err() != nil {
			e.kind = context.Cause(ctx)
		}
	}
	return e
}

// remoteError is an error of the agent: its text, and what it is for errors.As.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }
