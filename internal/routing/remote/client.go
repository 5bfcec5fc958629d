package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
)

const (
	// perPart is the number of sessions or sets in one message.
	perPart = 500
	// answerTime is the time that an agent may take to answer once the caller's context
	// has ended, and to close its sessions.
	answerTime = 3 * time.Second
)

// Speaker is the speaker of an agent. The password of a session is not sent.
type Speaker struct {
	agent string
	rpc   speakerpb.SpeakerClient
}

var _ routing.Speaker = (*Speaker)(nil)

// New returns the speaker of the agent with a name, over a connection of the agent's
// controller (agent.Client.Conn).
func New(agent string, conn grpc.ClientConnInterface) *Speaker {
	return &Speaker{agent: agent, rpc: speakerpb.NewSpeakerClient(conn)}
}

// failed is the error of a call that the agent did not answer.
func (s *Speaker) failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("agent %s: %s: %w", s.agent, doing, err)
}

// call sends a request in parts and waits for the answer. When ctx ends the stream of
// requests is closed, upon which the agent answers how things are then.
func call[Request, Response any](ctx context.Context, open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[Request, Response], error), parts []*Request) (*Response, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-life.Done():
		case <-time.After(answerTime):
			cancel()
		}
	})()
	stream, err := open(life)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if err := stream.Send(part); err != nil {
			break // The answer says why.
		}
	}
	defer context.AfterFunc(ctx, func() { _ = stream.CloseSend() })()
	answer := new(Response)
	if err := stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// Open implements routing.Speaker.
func (s *Speaker) Open(ctx context.Context, sessions []routing.Session) error {
	parts := []*speakerpb.OpenRequest{}
	for chunk := range slices.Chunk(sessions, perPart) {
		part := &speakerpb.OpenRequest{}
		for _, session := range chunk {
			part.Sessions = append(part.Sessions, sessionToWire(session))
		}
		parts = append(parts, part)
	}
	answer, err := call(ctx, s.rpc.Open, append(parts, &speakerpb.OpenRequest{Last: true}))
	if err != nil {
		return s.failed(ctx, "opening BGP sessions", err)
	}
	return failureFromWire(ctx, answer.GetFailure())
}

// Announce implements routing.Speaker.
func (s *Speaker) Announce(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	answer, err := call(ctx, s.rpc.Announce, setsToWire(session, sets))
	return s.sent(ctx, "announcing routes", answer, err)
}

// Withdraw implements routing.Speaker.
func (s *Speaker) Withdraw(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	answer, err := call(ctx, s.rpc.Withdraw, setsToWire(session, sets))
	return s.sent(ctx, "withdrawing routes", answer, err)
}

func setsToWire(session string, sets []routing.Routes) []*speakerpb.SetsRequest {
	parts := []*speakerpb.SetsRequest{{Session: session}}
	for chunk := range slices.Chunk(sets, perPart) {
		part := &speakerpb.SetsRequest{}
		for _, set := range chunk {
			part.Sets = append(part.Sets, routesToWire(set))
		}
		parts = append(parts, part)
	}
	return append(parts, &speakerpb.SetsRequest{Last: true})
}

func (s *Speaker) sent(ctx context.Context, doing string, answer *speakerpb.SentResponse, err error) (routing.Sent, error) {
	if err != nil {
		return routing.Sent{}, s.failed(ctx, doing, err)
	}
	return sentFromWire(answer), failureFromWire(ctx, answer.GetFailure())
}

// Await implements routing.Speaker.
func (s *Speaker) Await(ctx context.Context, session string, want routing.Table) (routing.Learnt, error) {
	answer, err := call(ctx, s.rpc.Await, []*speakerpb.AwaitRequest{{Session: session, Want: tableToWire(want)}})
	return s.learnt(ctx, "waiting for routes", answer, err)
}

// Refresh implements routing.Speaker.
func (s *Speaker) Refresh(ctx context.Context, session string) (routing.Refreshed, error) {
	answer, err := call(ctx, s.rpc.Refresh, []*speakerpb.RefreshRequest{{Session: session}})
	if err != nil {
		return routing.Refreshed{}, s.failed(ctx, "asking for all routes again", err)
	}
	refreshed := routing.Refreshed{Table: tableFromWire(answer.GetTable()), Asked: answer.GetAskedNs(), Last: answer.GetLastNs()}
	return refreshed, failureFromWire(ctx, answer.GetFailure())
}

// Learnt implements routing.Speaker.
func (s *Speaker) Learnt(ctx context.Context, session string) (routing.Learnt, error) {
	answer, err := s.rpc.Learnt(ctx, &speakerpb.LearntRequest{Session: session})
	return s.learnt(ctx, "asking for the routes learnt", answer, err)
}

func (s *Speaker) learnt(ctx context.Context, doing string, answer *speakerpb.LearntResponse, err error) (routing.Learnt, error) {
	if err != nil {
		return routing.Learnt{}, s.failed(ctx, doing, err)
	}
	return learntFromWire(answer), failureFromWire(ctx, answer.GetFailure())
}

// States implements routing.Speaker.
func (s *Speaker) States(ctx context.Context) ([]routing.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const doing = "asking for the states of the BGP sessions"
	parts, err := s.rpc.States(ctx, &speakerpb.StatesRequest{})
	if err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	states := []routing.State{}
	for {
		part, err := parts.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return states, nil
		case err != nil:
			return nil, s.failed(ctx, doing, err)
		case part.GetFailure() != nil:
			return nil, failureFromWire(ctx, part.GetFailure())
		}
		for _, state := range part.GetStates() {
			states = append(states, stateFromWire(state))
		}
	}
}

// Close implements routing.Speaker. Sessions also end when the agent's controller goes.
func (s *Speaker) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	answer, err := s.rpc.Close(ctx, &speakerpb.CloseRequest{})
	if err != nil {
		return s.failed(ctx, "closing the BGP sessions", err)
	}
	return failureFromWire(ctx, answer.GetFailure())
}
