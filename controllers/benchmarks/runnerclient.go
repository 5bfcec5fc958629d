package benchmarks

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/runner/service"
)

// MutualTLS calls runners over HTTPS; both sides authenticate with the certificates of
// the run.
type MutualTLS struct{}

var _ kit.RunnerClient = MutualTLS{}

// State reads the state of one runner. Every request makes a connection: runs are few,
// and a kept connection would have to be closed with the pod.
func (MutualTLS) State(ctx context.Context, target kit.RunnerTarget, after int) (runner.Answer, error) {
	client, err := service.NewClient(target.Address, target.ServerName, target.Certificate)
	if err != nil {
		return runner.Answer{}, fmt.Errorf("reaching the runner: %w", err)
	}
	defer client.Close()
	return client.State(ctx, after)
}

// Begin starts one runner.
func (MutualTLS) Begin(ctx context.Context, target kit.RunnerTarget, rows []v1alpha1.ResultRow) error {
	client, err := service.NewClient(target.Address, target.ServerName, target.Certificate)
	if err != nil {
		return fmt.Errorf("reaching the runner: %w", err)
	}
	defer client.Close()
	return client.Begin(ctx, rows)
}
