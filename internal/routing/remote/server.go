package remote

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
)

// statesPerPart is the number of states in one message.
const statesPerPart = 1000

// Server serves a speaker. It is an agent.Service.
type Server struct {
	speakerpb.UnimplementedSpeakerServer
	speaker routing.Speaker
}

// NewServer serves a speaker, which stays the caller's.
func NewServer(s routing.Speaker) *Server { return &Server{speaker: s} }

// Register implements agent.Service.
func (s *Server) Register(r grpc.ServiceRegistrar) { speakerpb.RegisterSpeakerServer(r, s) }

// End implements agent.Service: it closes all BGP sessions.
func (s *Server) End() error {
	if err := s.speaker.Close(); err != nil {
		return fmt.Errorf("closing the BGP sessions: %w", err)
	}
	return nil
}

// requests is a stream of requests with one answer.
type requests[Request any] interface {
	Context() context.Context
	Recv() (*Request, error)
}

// whole calls take with each part of a request, until take reports the last part. The context
// that it returns ends when the caller closes the stream.
func whole[Request any](stream requests[Request], take func(*Request) (last bool, _ error)) (context.Context, context.CancelFunc, error) {
	for {
		part, err := stream.Recv()
		if err != nil {
			return nil, nil, err
		}
		last, err := take(part)
		if err != nil {
			return nil, nil, err
		}
		if last {
			break
		}
	}
	ctx, cancel := context.WithCancel(stream.Context())
	go func() { // ends with the call at the latest
		defer cancel()
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	return ctx, cancel, nil
}

// Open is the wire form of routing.Speaker.
func (s *Server) Open(stream speakerpb.Speaker_OpenServer) error {
	var sessions []routing.Session
	ctx, cancel, err := whole(stream, func(part *speakerpb.OpenRequest) (bool, error) {
		for _, w := range part.GetSessions() {
			session, err := sessionFromWire(w)
			if err != nil {
				return false, err
			}
			sessions = append(sessions, session)
		}
		return part.GetLast(), nil
	})
	if err != nil {
		return err
	}
	defer cancel()
	return stream.SendAndClose(&speakerpb.OpenResponse{Failure: failureToWire(s.speaker.Open(ctx, sessions))})
}

// Announce is the wire form of routing.Speaker.
func (s *Server) Announce(stream speakerpb.Speaker_AnnounceServer) error {
	return send(stream, s.speaker.Announce)
}

// Withdraw is the wire form of routing.Speaker.
func (s *Server) Withdraw(stream speakerpb.Speaker_WithdrawServer) error {
	return send(stream, s.speaker.Withdraw)
}

func send(stream grpc.ClientStreamingServer[speakerpb.SetsRequest, speakerpb.SentResponse], do func(context.Context, string, []routing.Routes) (routing.Sent, error)) error {
	var session string
	var sets []routing.Routes
	ctx, cancel, err := whole(stream, func(part *speakerpb.SetsRequest) (bool, error) {
		if session == "" {
			session = part.GetSession()
		}
		for _, w := range part.GetSets() {
			set, err := routesFromWire(w)
			if err != nil {
				return false, err
			}
			sets = append(sets, set)
		}
		return part.GetLast(), nil
	})
	if err != nil {
		return err
	}
	defer cancel()
	sent, err := do(ctx, session, sets)
	return stream.SendAndClose(sentToWire(sent, err))
}

// Await is the wire form of routing.Speaker.
func (s *Server) Await(stream speakerpb.Speaker_AwaitServer) error {
	var request *speakerpb.AwaitRequest
	ctx, cancel, err := whole(stream, func(part *speakerpb.AwaitRequest) (bool, error) {
		request = part
		return true, nil
	})
	if err != nil {
		return err
	}
	defer cancel()
	learnt, err := s.speaker.Await(ctx, request.GetSession(), tableFromWire(request.GetWant()))
	return stream.SendAndClose(learntToWire(learnt, err))
}

// Refresh is the wire form of routing.Speaker.
func (s *Server) Refresh(stream speakerpb.Speaker_RefreshServer) error {
	var request *speakerpb.RefreshRequest
	ctx, cancel, err := whole(stream, func(part *speakerpb.RefreshRequest) (bool, error) {
		request = part
		return true, nil
	})
	if err != nil {
		return err
	}
	defer cancel()
	r, err := s.speaker.Refresh(ctx, request.GetSession())
	return stream.SendAndClose(&speakerpb.RefreshResponse{Failure: failureToWire(err), Table: tableToWire(r.Table), AskedNs: r.Asked, LastNs: r.Last})
}

// Learnt is the wire form of routing.Speaker.
func (s *Server) Learnt(ctx context.Context, r *speakerpb.LearntRequest) (*speakerpb.LearntResponse, error) {
	learnt, err := s.speaker.Learnt(ctx, r.GetSession())
	return learntToWire(learnt, err), nil
}

// States is the wire form of routing.Speaker.
func (s *Server) States(_ *speakerpb.StatesRequest, parts speakerpb.Speaker_StatesServer) error {
	states, err := s.speaker.States(parts.Context())
	if err != nil {
		return parts.Send(&speakerpb.StatesResponse{Failure: failureToWire(err)})
	}
	part := &speakerpb.StatesResponse{}
	for _, state := range states {
		if len(part.States) == statesPerPart {
			if err := parts.Send(part); err != nil {
				return err
			}
			part = &speakerpb.StatesResponse{}
		}
		part.States = append(part.States, stateToWire(state))
	}
	return parts.Send(part)
}

// Close is the wire form of routing.Speaker.
func (s *Server) Close(context.Context, *speakerpb.CloseRequest) (*speakerpb.CloseResponse, error) {
	return &speakerpb.CloseResponse{Failure: failureToWire(s.speaker.Close())}, nil
}
