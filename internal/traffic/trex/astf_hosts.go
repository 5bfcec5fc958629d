package trex

import (
	"context"
	"errors"
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// astfHosts are the hosts of a server in mode ASTF.
type astfHosts struct{ *ASTF }

var _ workload.Engine = astfHosts{}

// Close implements workload.Engine: it removes the hosts, and the generator keeps the ports.
func (e astfHosts) Close() error {
	if e.context == "" || e.server.client.lost != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := e.clear(ctx)
	if errors.Is(err, traffic.ErrInterrupted) {
		return nil // nothing of this session is left
	}
	return err
}

// notCountedByTRex is the answer to requests of which the server does not count what they ask for.
func notCountedByTRex(what string) error {
	return fmt.Errorf("TRex in mode ASTF has no counters for %s: use engine xdp: %w", what, traffic.ErrUnsupported)
}

// Incast implements workload.Engine.
func (astfHosts) Incast(context.Context, workload.IncastRequest) (workload.Incast, error) {
	return workload.Incast{}, notCountedByTRex("the completion of blocks")
}

// ConnectIncast implements workload.Engine.
func (astfHosts) ConnectIncast(context.Context, workload.IncastRequest) error {
	return notCountedByTRex("the completion of blocks")
}

// DisconnectIncast implements workload.Engine.
func (astfHosts) DisconnectIncast(context.Context) (workload.Segments, error) {
	return workload.Segments{}, notCountedByTRex("the completion of blocks")
}

// RPC implements workload.Engine.
func (astfHosts) RPC(context.Context, workload.RPCRequest) (workload.RPC, error) {
	return workload.RPC{}, notCountedByTRex("the time of each request")
}

// Collective implements workload.Engine.
func (astfHosts) Collective(context.Context, workload.CollectiveRequest) (workload.Collective, error) {
	return workload.Collective{}, notCountedByTRex("the steps of collectives")
}

// Messages implements workload.Engine.
func (astfHosts) Messages(context.Context, workload.MessagesRequest) (workload.Messages, error) {
	return workload.Messages{}, notCountedByTRex("numbered datagrams of multicast groups")
}
