package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// PatchBed patches the status of a bed, and returns the bed as it is then. With a
// version it fails with a conflict when the bed was written since.
func (b *Base) PatchBed(ctx context.Context, bed *v1alpha1.TestBed, status map[string]any, version string) (*v1alpha1.TestBed, error) {
	body := map[string]any{"status": status}
	if version != "" {
		body["metadata"] = map[string]any{"resourceVersion": version}
	}
	after := Named(&v1alpha1.TestBed{}, bed)
	if err := b.Client.Status().Patch(ctx, after, MergePatch(body)); err != nil {
		return nil, fmt.Errorf("storing the status of test bed %s: %w", bed.Name, err)
	}
	return after, nil
}

// Named is an empty object with the name of another one, to patch it by its name.
func Named[T client.Object](empty, of T) T {
	empty.SetNamespace(of.GetNamespace())
	empty.SetName(of.GetName())
	return empty
}

// MergePatch is a JSON merge patch (RFC 7386).
func MergePatch(body map[string]any) client.Patch {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // The bodies are built of types that can be marshalled.
	}
	return client.RawPatch(types.MergePatchType, text)
}

// StoreStatus stores the status, once, under an optimistic lock: what was decided on an
// outdated benchmark is decided again.
func (r *Base) StoreStatus(ctx context.Context, s *Scope, failure error) error {
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
	patch := client.MergeFromWithOptions(s.Before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, s.Benchmark, patch); err != nil {
		// A benchmark without a finalizer may be gone by now.
		return client.IgnoreNotFound(fmt.Errorf("storing the status of the benchmark: %w", err))
	}
	r.announce(ctx, s)
	return nil
}

// Truncated returns a text that fits into the note of an event.
func Truncated(note string) string {
	if note == "" {
		return "see the conditions of the benchmark"
	}
	return note[:min(len(note), maxNote)]
}

// BrokenError is a failure that a retry does not solve.
type BrokenError struct{ err error }

func (e *BrokenError) Error() string { return e.err.Error() }

// Permanent returns a failure that a retry does not solve.
func Permanent(err error) error { return &BrokenError{err} }

// Sleep waits, and reports whether the context still goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// announce logs a new phase, and makes an event only of an end that needs attention: an
// event costs the API server as much as a status, which says the same.
func (r *Base) announce(ctx context.Context, s *Scope) {
	if s.Status.Phase == s.Before.Status.Phase {
		return
	}
	r.count(s)
	log.FromContext(ctx).Info("The benchmark moved on",
		"phase", s.Status.Phase, "outcome", s.Status.Outcome, "bed", s.Status.TestBedName, "message", s.Status.Message)
	if s.Status.Preemption != nil && s.Before.Status.Preemption == nil {
		r.Recorder.Eventf(s.Benchmark, nil, corev1.EventTypeNormal, v1alpha1.ReasonPreempted, "ReturnBed", "%s", Truncated(s.PreemptedBy()))
	}
	if !s.Status.Phase.Finished() || s.Status.Phase == v1alpha1.PhasePassed {
		return
	}
	kind := corev1.EventTypeNormal
	switch s.Status.Phase {
	case v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid, v1alpha1.PhaseError:
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(s.Benchmark, nil, kind, string(s.Status.Phase), "Advance", "%s", Truncated(s.Status.Message))
}

// maxNote is the maximum length of the note of an event that the API server accepts.
const maxNote = 1024
