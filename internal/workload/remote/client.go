package remote

import (
	"context"

	"google.golang.org/grpc"

	"nodrop.dev/nodrop/internal/workload"
)

// Engine is the workload engine of an agent.
type Engine struct {
	agent string
	conn  grpc.ClientConnInterface
}

var _ workload.Engine = (*Engine)(nil)

// New returns the engine of the agent with a name, over a connection of the agent's controller
// (agent.Client.Conn).
func New(agent string, conn grpc.ClientConnInterface) *Engine { return &Engine{agent, conn} }

// Incast implements workload.Engine.
func (e *Engine) Incast(ctx context.Context, request workload.IncastRequest) (workload.Incast, error) {
	return incast.ask(ctx, e, request)
}

// ConnectIncast implements workload.Engine.
func (e *Engine) ConnectIncast(ctx context.Context, request workload.IncastRequest) error {
	_, err := connect.ask(ctx, e, request)
	return err
}

// DisconnectIncast implements workload.Engine.
func (e *Engine) DisconnectIncast(ctx context.Context) (workload.Segments, error) {
	return disconnect.ask(ctx, e, struct{}{})
}

// Connections implements workload.Engine.
func (e *Engine) Connections(ctx context.Context, request workload.ConnectionsRequest) (workload.Connections, error) {
	return connections.ask(ctx, e, request)
}

// RPC implements workload.Engine.
func (e *Engine) RPC(ctx context.Context, request workload.RPCRequest) (workload.RPC, error) {
	return rpc.ask(ctx, e, request)
}

// Collective implements workload.Engine.
func (e *Engine) Collective(ctx context.Context, request workload.CollectiveRequest) (workload.Collective, error) {
	return collective.ask(ctx, e, request)
}

// Bulk implements workload.Engine.
func (e *Engine) Bulk(ctx context.Context, request workload.BulkRequest) (workload.Bulk, error) {
	return bulk.ask(ctx, e, request)
}

// Messages implements workload.Engine.
func (e *Engine) Messages(ctx context.Context, request workload.MessagesRequest) (workload.Messages, error) {
	return messages.ask(ctx, e, request)
}

// Close implements workload.Engine: the hosts end with the session of the controller.
func (e *Engine) Close() error { return nil }
