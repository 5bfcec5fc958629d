package agent

import (
	"context"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Sample implements the wire form of Generator.
func (s *Server) Sample(ctx context.Context, _ *agentpb.SampleRequest) (response *agentpb.SampleResponse, err error) {
	err = s.call(ctx, func(ctx context.Context, _ *session) error {
		sample, err := s.gen.Sample(ctx)
		response = &agentpb.SampleResponse{AtNanos: int64(sample.At), Sent: sample.Sent, Received: sample.Received}
		return err
	})
	return response, err
}

// Sample implements Generator.
func (c *Client) Sample(ctx context.Context) (sample traffic.Sample, err error) {
	err = c.doTrial(ctx, "reading a sample", func(ctx context.Context, _ *clientSession) error {
		w, err := c.rpc.Sample(ctx, &agentpb.SampleRequest{})
		if err != nil {
			return err
		}
		sample = traffic.Sample{At: time.Duration(w.GetAtNanos()), Sent: w.GetSent(), Received: w.GetReceived()}
		return nil
	})
	return sample, err
}

// Sample implements Generator: it adds up what all agents counted. They are
// asked at the same time, and the sample is as old as the oldest trial.
func (f *Fleet) Sample(ctx context.Context) (traffic.Sample, error) {
	parts := make([]traffic.Sample, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) (err error) {
		parts[i], err = c.Sample(ctx)
		return err
	})
	if err != nil {
		return traffic.Sample{}, err
	}
	var all traffic.Sample
	for _, part := range parts {
		all.At = max(all.At, part.At)
		all.Sent += part.Sent
		all.Received += part.Received
	}
	return all, nil
}
