package benchmarks

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// refusals bound the time for which the API server may refuse what a phase needs, such as reading a lab whose roles were
// removed.
type refusals struct {
	// deadline is the time after which the benchmark ends.
	deadline time.Duration
	// poll is the pause between two attempts.
	poll time.Duration
}

// bound returns phases that repeat the given ones while the API server refuses them.
func (r refusals) bound(phases ...phase) []phase {
	for i, p := range phases {
		phases[i] = func(ctx context.Context, s *kit.Scope) (kit.Step, error) {
			next, err := p(ctx, s)
			return r.await(ctx, s, next, err)
		}
	}
	return phases
}

// await returns the result of a phase, unless the API server refused what the phase needs: then the phase is repeated, and the
// benchmark ends after the deadline.
func (r refusals) await(ctx context.Context, s *kit.Scope, next kit.Step, err error) (kit.Step, error) {
	if !kit.IsRefused(err) {
		return next, err
	}
	if s.Overdue(v1alpha1.ReasonLabRefused, r.deadline) {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonLabRefused, fmt.Sprintf(
			"the API server has refused the operator for %s: %v; %s", r.deadline, err, rowsKept(s))), nil
	}
	message := kit.Bounded("the API server refuses the operator: " + err.Error())
	if s.Status.Message != message {
		log.FromContext(ctx).Info("The API server refuses what a benchmark needs", "benchmark", keyOf(s.Benchmark), "reason", err.Error())
		s.Status.Message = message
	}
	return kit.Again(r.poll), nil
}
