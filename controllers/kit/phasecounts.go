package kit

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// countPhase counts a benchmark whose phase has changed, once that is stored.
func countPhase(counts *opmetrics.Operator, s *Scope) {
	before, after := s.Before.Status.Phase, s.Status.Phase
	if Waits(s.Benchmark) {
		return // In the queue there are too many to follow; the lease ends that phase.
	}
	since := s.Timers.enter(s.Benchmark, s.Now)
	switch {
	case after == v1alpha1.PhasePreparing && before != v1alpha1.PhaseRunning:
		counts.Phase(string(v1alpha1.PhaseQueued), s.waited())
	case !since.IsZero():
		counts.Phase(string(before), s.Now.Sub(since))
	}
	if !after.Finished() {
		return
	}
	counts.Finished(string(after))
	if s.Status.TestBedName != "" {
		counts.CleanedUp(s.IsTrue(v1alpha1.ConditionCleanedUp))
	}
}

// waited returns the time for which a benchmark that has a bed waited for it, since its
// creation or its last preemption.
func (s *Scope) waited() time.Duration {
	runs := s.Status.EarlierRuns
	if len(runs) == 0 || s.Status.LeaseTime == nil {
		return s.Status.StartTime.Sub(s.CreationTimestamp.Time)
	}
	return s.Status.LeaseTime.Sub(runs[len(runs)-1].Until.Time)
}
