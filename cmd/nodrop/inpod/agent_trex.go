//go:build !standalone

package inpod

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex"
)

// trexRetry is the interval between requests to a TRex server that does not answer yet.
const trexRetry = 200 * time.Millisecond

// openTRexPorts waits for the TRex server next to the agent and takes its ports. The
// server holds the interfaces, so that the agent needs no rights of its own.
func openTRexPorts(ctx context.Context, config agent.Config, timeout time.Duration) (traffic.Generator, error) {
	options := trex.Options{
		Endpoint: config.TRex.Endpoint, TimedFramesPerSecond: config.TRex.TimedFramesPerSecond,
		// An agent that was killed could not give its ports back.
		Force: true,
		Host:  config.Node,
	}
	for i, p := range config.Ports {
		prefixes, err := p.Prefixes()
		if err != nil {
			return nil, err
		}
		options.Ports = append(options.Ports, trex.Port{Name: p.Name, Index: i, Interface: p.Interface, Addresses: prefixes, VLANs: p.VLANs})
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := awaitTRex(ctx, config.TRex.Endpoint); err != nil {
		return nil, hint.With(fmt.Errorf("waiting %s for the TRex server: %w", timeout, err),
			"the log of the other container of this pod says why the server does not start")
	}
	engine, err := trex.Open(ctx, options, config.Hosts)
	if err != nil {
		return nil, fmt.Errorf("opening the engine trex: %w", err)
	}
	return engine, nil
}

// awaitTRex waits until a server answers at an endpoint.
func awaitTRex(ctx context.Context, endpoint string) error {
	tick := time.NewTicker(trexRetry)
	defer tick.Stop()
	for {
		_, err := trex.Ping(ctx, endpoint)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
