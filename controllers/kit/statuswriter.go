package kit

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// StatusWriter stores the status of benchmarks, and makes their new phases known by the log,
// by events and by counts.
type StatusWriter struct {
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder events.EventRecorder
	// Counts counts what happens, for Prometheus; nil counts nothing.
	Counts *opmetrics.Operator
}

// Store stores the status, once, unless what it depends on was written since the benchmark was
// read: what was decided on an outdated benchmark is decided again.
func (w StatusWriter) Store(ctx context.Context, s *Scope, failure error) error {
	if failure == nil {
		s.Status.ObservedGeneration = s.Generation
		if !s.waiting {
			s.Timers.Over(s.Benchmark, &s.Status.Wait)
		}
	}
	s.Status.Message = Bounded(s.Status.Message)
	Summarize(s.Benchmark, s.Now)
	s.Status.Message = Bounded(s.Status.Message)
	if equality.Semantic.DeepEqual(s.Before.Status, s.Status) {
		return nil
	}
	if err := PatchStatus(ctx, w.Client, w.Live, s.Before, s.Benchmark); err != nil {
		return client.IgnoreNotFound(err) // A benchmark without a finalizer may be gone by now.
	}
	w.announce(ctx, s)
	return nil
}

// announce logs a new phase, and makes an event only of an end that needs attention: an
// event costs the API server as much as a status, which says the same.
func (w StatusWriter) announce(ctx context.Context, s *Scope) {
	if s.Status.Phase == s.Before.Status.Phase {
		return
	}
	countPhase(w.Counts, s)
	log.FromContext(ctx).Info("The benchmark moved on",
		"phase", s.Status.Phase, "outcome", s.Status.Outcome, "bed", s.Status.TestBedName, "message", s.Status.Message)
	if s.Status.Preemption != nil && s.Before.Status.Preemption == nil {
		w.Recorder.Eventf(s.Benchmark, nil, corev1.EventTypeNormal, v1alpha1.ReasonPreempted, "ReturnBed", "%s", Truncated(s.PreemptedBy()))
	}
	if !s.Status.Phase.Finished() || s.Status.Phase.Succeeded() {
		return
	}
	kind := corev1.EventTypeNormal
	switch s.Status.Phase {
	case v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid, v1alpha1.PhaseError:
		kind = corev1.EventTypeWarning
	}
	w.Recorder.Eventf(s.Benchmark, nil, kind, string(s.Status.Phase), "Advance", "%s", Truncated(s.Status.Message))
}

// Truncated returns a text that fits into the note of an event.
func Truncated(note string) string {
	if note == "" {
		return "see the conditions of the benchmark"
	}
	return strings.ToValidUTF8(note[:min(len(note), maxNote)], "")
}

// maxNote is the maximum length of the note of an event that the API server accepts.
const maxNote = 1024
