package agent

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Progress is the wire form of traffic.ProgressReporter.
func (s *Server) Progress(ctx context.Context, r *agentpb.ProgressRequest) (response *agentpb.ProgressResponse, err error) {
	age := time.Duration(r.GetAgeNanos())
	if age <= 0 {
		return nil, toStatus(fmt.Errorf("reporting the progress with a reorder window of %s: want more than 0", age))
	}
	err = s.gate.concurrent(ctx, func(ctx context.Context, _ *session) error {
		if s.engine.reporter == nil {
			return fmt.Errorf("reporting the progress: %w", traffic.ErrUnsupported)
		}
		p, err := s.engine.reporter.Progress(ctx, age)
		response = &agentpb.ProgressResponse{Expected: p.Expected, Received: p.Received, Lost: p.Lost}
		return err
	})
	return response, err
}

// Progress implements traffic.ProgressReporter; it fails when the agent's engine does
// not.
func (c *Client) Progress(ctx context.Context, age time.Duration) (p traffic.Progress, err error) {
	err = c.link.concurrent(ctx, "reporting the progress", func(ctx context.Context) error {
		w, err := c.link.rpc.Progress(ctx, &agentpb.ProgressRequest{AgeNanos: int64(age)})
		if err != nil {
			return err
		}
		p = traffic.Progress{Expected: w.GetExpected(), Received: w.GetReceived(), Lost: w.GetLost()}
		return nil
	})
	return p, err
}

// Progress implements traffic.ProgressReporter: it adds up what all agents counted.
// Each knows what it sent and what it received, also of streams of others.
func (f *Fleet) Progress(ctx context.Context, age time.Duration) (traffic.Progress, error) {
	parts := make([]traffic.Progress, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) (err error) {
		parts[i], err = c.Progress(ctx, age)
		return err
	})
	if err != nil {
		return traffic.Progress{}, err
	}
	var all traffic.Progress
	for _, part := range parts {
		all.Expected += part.Expected
		all.Received += part.Received
		all.Lost += part.Lost
	}
	return all, nil
}
