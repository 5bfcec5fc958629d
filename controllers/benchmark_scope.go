package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
)

// scope is the state that the phases of one reconcile share.
type scope struct {
	*v1alpha1.Benchmark
	// before is the benchmark as it was read.
	before *v1alpha1.Benchmark
	// run names the benchmark's objects in the lab.
	run lab.Run
	// bed that is leased.
	bed *v1alpha1.TestBed
	// profile and configMaps, by name, as they were kept; with the bed they are what the
	// benchmark works with once it has its bed.
	profile    *v1alpha1.TrafficProfile
	configMaps map[string]*corev1.ConfigMap
	// device of the bed as the current variant configures it.
	device v1alpha1.Device
	now    time.Time
	timers *timers
	// waiting reports whether this reconcile counted a wait.
	waiting bool
}

func newScope(b *v1alpha1.Benchmark, now time.Time, t *timers) *scope {
	return &scope{Benchmark: b, before: b.DeepCopy(), run: lab.RunOf(b), now: now, timers: t}
}

// set sets a condition and, unless it is true, makes its message the benchmark's.
func (s *scope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	setCondition(&s.Status.Conditions, s.now, s.Generation, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
	})
	if status != metav1.ConditionTrue {
		s.Status.Message = bounded(message)
	}
}

func (s *scope) isTrue(kind string) bool { return isTrue(s.Status.Conditions, kind) }

// overdue counts one more unsuccessful check of a wait that ends with a reason, and reports
// whether operators have waited for as long as limit.
func (s *scope) overdue(reason string, limit time.Duration) bool {
	s.waiting = true
	return s.timers.overdue(s.Benchmark, &s.Status.Wait, reason, s.now, limit)
}

// end decides how the benchmark ends. The first decision is final; clean-up begins once
// it is stored.
func (s *scope) end(outcome v1alpha1.BenchmarkPhase, kind, reason, message string) step {
	if s.ending() {
		return again(soon)
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
	s.set(kind, status, reason, message)
	s.Status.Message = bounded(message)
	return again(soon)
}

// ending reports whether the outcome is decided.
func (s *scope) ending() bool { return s.Status.Outcome != "" }

// late ends the benchmark when what a condition waits for takes too long. Every check
// that finds something missing calls it.
func (s *scope) late(kind, reason string, limit time.Duration, what string) (step, bool) {
	if !s.overdue(reason, limit) {
		return step{}, false
	}
	return s.end(v1alpha1.PhaseError, kind, reason, fmt.Sprintf("%s within %s", what, limit)), true
}
