package benchmarks

import (
	"context"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// phases run in their order. Once the outcome is decided only the
// clean-up is left.
func (r *Reconciler) phases() []phase {
	if r.Bench != nil {
		return []phase{r.noticeEnd, r.returnBed, r.cleanUp, r.lease, r.noticePreemption, r.bench}
	}
	return []phase{
		r.noticeEnd, r.returnBed, r.closeResult, r.cleanUp, r.lease, r.noticePreemption,
		r.keepInputs, r.variant, r.startDevice, r.startTraffic, r.measure,
	}
}

// bench leaves everything on the bed to another Bench.
func (r *Reconciler) bench(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	outcome, after, err := r.Bench.Run(ctx, s.Benchmark)
	if err != nil || outcome == "" {
		return kit.Again(after), err
	}
	return s.End(outcome, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "the bench is done"), nil
}
