package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"nodrop.dev/nodrop/internal/workload"
)

// service is the name of the service on the wire.
const service = "nodrop.workload.v1.Workload"

// maxAnswer is the maximum number of bytes of an answer: 100,000 iterations need two numbers each.
const maxAnswer = 16 << 20

// method is a call of an engine.
type method[Request, Answer any] struct {
	name string
	call func(workload.Engine, context.Context, Request) (Answer, error)
}

// The methods of the service.
var (
	incast  = method[workload.IncastRequest, workload.Incast]{"Incast", workload.Engine.Incast}
	connect = method[workload.IncastRequest, struct{}]{"ConnectIncast", func(e workload.Engine, ctx context.Context, r workload.IncastRequest) (struct{}, error) {
		return struct{}{}, e.ConnectIncast(ctx, r)
	}}
	disconnect = method[struct{}, workload.Segments]{"DisconnectIncast", func(e workload.Engine, ctx context.Context, _ struct{}) (workload.Segments, error) {
		return e.DisconnectIncast(ctx)
	}}
	rpc         = method[workload.RPCRequest, workload.RPC]{"RPC", workload.Engine.RPC}
	collective  = method[workload.CollectiveRequest, workload.Collective]{"Collective", workload.Engine.Collective}
	bulk        = method[workload.BulkRequest, workload.Bulk]{"Bulk", workload.Engine.Bulk}
	connections = method[workload.ConnectionsRequest, workload.Connections]{"Connections", workload.Engine.Connections}
	messages    = method[workload.MessagesRequest, workload.Messages]{"Messages", workload.Engine.Messages}
)

// description describes the service to gRPC.
var description = grpc.ServiceDesc{
	ServiceName: service, HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{incast.describe(), connect.describe(), disconnect.describe(), connections.describe(), rpc.describe(), collective.describe(), bulk.describe(), messages.describe()},
}

// describe returns the method as a server has it.
func (m method[Request, Answer]) describe() grpc.MethodDesc {
	answer := func(ctx context.Context, server *Server, in *wrapperspb.BytesValue) (any, error) {
		var request Request
		if err := json.Unmarshal(in.GetValue(), &request); err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		engine, err := server.use(ctx)
		if err != nil {
			return nil, err
		}
		defer server.leave()
		found, err := m.call(engine, ctx, request)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(found)
		return wrapperspb.Bytes(text), err
	}
	return grpc.MethodDesc{MethodName: m.name, Handler: func(server any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		in := &wrapperspb.BytesValue{}
		if err := decode(in); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, in any) (any, error) {
			return answer(ctx, server.(*Server), in.(*wrapperspb.BytesValue))
		}
		if intercept == nil {
			return handle(ctx, in)
		}
		return intercept(ctx, in, &grpc.UnaryServerInfo{Server: server, FullMethod: m.path()}, handle)
	}}
}

func (m method[Request, Answer]) path() string { return "/" + service + "/" + m.name }

// ask calls the method at an agent.
func (m method[Request, Answer]) ask(ctx context.Context, e *Engine, request Request) (found Answer, _ error) {
	text, err := json.Marshal(request)
	if err != nil {
		return found, fmt.Errorf("writing the request of %s: %w", m.name, err)
	}
	out := &wrapperspb.BytesValue{}
	if err := e.conn.Invoke(ctx, m.path(), wrapperspb.Bytes(text), out, grpc.MaxCallRecvMsgSize(maxAnswer)); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return found, fmt.Errorf("agent %s: %w", e.agent, err)
	}
	if err := json.Unmarshal(out.GetValue(), &found); err != nil {
		return found, fmt.Errorf("agent %s: reading its answer to %s: %w", e.agent, m.name, err)
	}
	return found, nil
}
