package controllers

import (
	"context"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
)

// Bench runs a benchmark on a leased bed. The operator's own starts device, traffic pods
// and runner; another one allows to measure the allocation of a whole lab without pods.
type Bench interface {
	// Run advances a benchmark. It returns the phase in which the benchmark ends; without
	// one it is called again after a while.
	Run(ctx context.Context, b *v1alpha1.Benchmark) (outcome v1alpha1.BenchmarkPhase, after time.Duration, err error)
	// Sweep removes what is left of a run, and names what it could not remove yet.
	Sweep(ctx context.Context, run lab.Run) (left string, err error)
}

// phases run in their order. Once the outcome is decided only the
// clean-up is left.
func (r *benchmarkReconciler) phases() []phase {
	if r.Bench != nil {
		return []phase{r.noticeEnd, r.returnBed, r.cleanUp, r.lease, r.noticePreemption, r.bench}
	}
	return []phase{
		r.noticeEnd, r.returnBed, r.closeResult, r.cleanUp, r.lease, r.noticePreemption,
		r.keepInputs, r.variant, r.startDevice, r.startTraffic, r.measure,
	}
}

// bench leaves everything on the bed to another Bench.
func (r *benchmarkReconciler) bench(ctx context.Context, s *scope) (step, error) {
	outcome, after, err := r.Bench.Run(ctx, s.Benchmark)
	if err != nil || outcome == "" {
		return again(after), err
	}
	return s.end(outcome, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "the bench is done"), nil
}
