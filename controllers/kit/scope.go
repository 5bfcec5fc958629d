package kit

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// Scope is the state that the phases of one reconcile share.
type Scope struct {
	*v1alpha1.Benchmark
	// Before is the benchmark as it was read.
	Before *v1alpha1.Benchmark
	// Run names the benchmark's objects in the lab.
	Run labobjects.Run
	// Bed that is leased.
	Bed *v1alpha1.TestBed
	// Profile and ConfigMaps, by name, as they were kept; with the bed they are what the
	// benchmark works with once it has its bed.
	Profile    *v1alpha1.TrafficProfile
	ConfigMaps map[string]*corev1.ConfigMap
	// Device of the bed as the current variant configures it.
	Device v1alpha1.Device
	Now    time.Time
	Timers *Timers
	// Ended is the decision of this reconcile how the benchmark ends.
	Ended v1alpha1.ResultEnding
	// waiting reports whether this reconcile counted a wait.
	waiting bool
}

// NewScope returns the state of a reconcile of a benchmark as it was read.
func NewScope(b *v1alpha1.Benchmark, now time.Time, t *Timers) *Scope {
	return &Scope{Benchmark: b, Before: b.DeepCopy(), Run: labobjects.RunOf(b), Now: now, Timers: t}
}

// Set sets a condition and, unless it is true, makes its message the benchmark's.
func (s *Scope) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	SetCondition(&s.Status.Conditions, s.Now, s.Generation, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
	})
	if status != metav1.ConditionTrue {
		s.Status.Message = Bounded(message)
	}
}

// IsTrue reports whether a condition of the benchmark is true.
func (s *Scope) IsTrue(kind string) bool { return IsTrue(s.Status.Conditions, kind) }

// Overdue counts one more unsuccessful check of a wait that ends with a reason, and reports
// whether operators have waited for as long as limit.
func (s *Scope) Overdue(reason string, limit time.Duration) bool {
	s.waiting = true
	return s.Timers.Overdue(s.Benchmark, &s.Status.Wait, reason, s.Now, limit)
}

// End decides how the benchmark ends. The first decision that is stored is final; clean-up begins once
// it is stored, in the status or with the result.
func (s *Scope) End(outcome v1alpha1.BenchmarkPhase, kind, reason, message string) Step {
	if s.Ending() {
		return Again(Soon)
	}
	if outcome == "" {
		outcome = v1alpha1.PhaseError
	}
	if reason == "" {
		reason = string(outcome)
	}
	s.Status.Outcome = outcome
	s.Status.Phase = v1alpha1.PhaseCleaningUp
	status := metav1.ConditionFalse
	if kind == v1alpha1.ConditionMeasured && (outcome.Measured() || outcome == v1alpha1.PhaseFailed) {
		status = metav1.ConditionTrue
	}
	s.Set(kind, status, reason, message)
	s.Status.Message = Bounded(message)
	s.Ended = v1alpha1.ResultEnding{Attempt: s.Status.Attempt, Outcome: outcome, Condition: kind, Reason: reason, Message: s.Status.Message}
	return Again(Soon)
}

// Ending reports whether the outcome is decided.
func (s *Scope) Ending() bool { return s.Status.Outcome != "" }

// Decided reports whether the outcome is decided and not in the stored status.
func (s *Scope) Decided() bool { return s.Ending() && s.Before.Status.Outcome == "" }

// TakesOver reports whether the stored status does not name the bed of the benchmark yet. Nothing may be started on the bed
// before, since another operator may have leased another one.
func (s *Scope) TakesOver() bool {
	return s.Status.TestBedName != "" && s.Before.Status.TestBedName == ""
}

// Late ends the benchmark when what a condition waits for takes too long. Every check
// that finds something missing calls it.
func (s *Scope) Late(kind, reason string, limit time.Duration, what string) (Step, bool) {
	if !s.Overdue(reason, limit) {
		return Step{}, false
	}
	return s.End(v1alpha1.PhaseError, kind, reason, fmt.Sprintf("%s within %s", what, limit)), true
}
