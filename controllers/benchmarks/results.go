package benchmarks

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/stored"
)

// Memory caches data of running benchmarks. All of it can be read from the API again.
type Memory struct {
	mu      sync.Mutex
	ledgers map[types.UID]*results.Ledger
	inputs  map[types.UID]*keptInputs
}

// keptInputs are inputs that were read, with the snapshots that they were read from.
type keptInputs struct {
	stored.Inputs
	sources []v1alpha1.SnapshotSource
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{ledgers: map[types.UID]*results.Ledger{}, inputs: map[types.UID]*keptInputs{}}
}

// forget drops what is remembered of a benchmark.
func (m *Memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ledgers, uid)
	delete(m.inputs, uid)
}

// ledger returns what is stored of the benchmark's result. One reconcile of the benchmark
// uses it at a time.
func (r *Reconciler) ledger(ctx context.Context, s *kit.Scope) (*results.Ledger, error) {
	r.Memory.mu.Lock()
	known := r.Memory.ledgers[s.UID]
	r.Memory.mu.Unlock()
	if known != nil && !known.Outdated(s.Status.Results) {
		return known, nil
	}
	parts, err := stored.Parts(ctx, r.Live, s.Benchmark)
	if err != nil {
		return nil, err
	}
	l, err := results.Open(s.DeepCopy(), parts)
	if err != nil {
		return nil, err
	}
	r.Memory.mu.Lock()
	defer r.Memory.mu.Unlock()
	r.Memory.ledgers[s.UID] = l
	return l, nil
}

// store writes what changed in the ledger, and summarizes it in the status. A ledger that
// was not written completely is discarded: the API is authoritative.
func (r *Reconciler) store(ctx context.Context, s *kit.Scope, l *results.Ledger) error {
	err := l.Write(func(part *v1alpha1.BenchmarkResult) error {
		if part.ResourceVersion == "" {
			kit.KeepForArchive(part, r.Archive)
			return r.Create(ctx, part)
		}
		return r.Update(ctx, part)
	})
	if err != nil {
		r.Memory.mu.Lock()
		delete(r.Memory.ledgers, s.UID)
		r.Memory.mu.Unlock()
		if apierrors.IsAlreadyExists(err) { // Another operator began the part since the ledger was opened.
			err = apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarkresults").GroupResource(), s.Name, err)
		}
		return fmt.Errorf("storing the result of benchmark %s: %w", s.Name, err)
	}
	if s.Status.Results == nil {
		s.Status.Results = &v1alpha1.ResultSummary{}
	}
	l.Summarize(s.Status.Results)
	return nil
}

// takeIn stores the rows that the runner has finished since the last poll, and the
// environment.
func (r *Reconciler) takeIn(ctx context.Context, s *kit.Scope) (heard, error) {
	h, rows := r.Poller.hear(keyOf(s.Benchmark))
	if !h.answered {
		return h, nil
	}
	l, err := r.ledger(ctx, s)
	if err != nil {
		return h, err
	}
	if err := sameEnvironment(s, l, h.state.Environment); err != nil {
		return h, err
	}
	if _, err := l.Add(rows...); err != nil {
		return h, err
	}
	l.SetEnvironment(h.state.Environment)
	if err := r.store(ctx, s, l); err != nil {
		return h, err
	}
	r.Poller.stored(keyOf(s.Benchmark), len(rows))
	if h.state.Progress.RowsTotal > 0 || h.state.Progress.Summary != "" {
		progress := h.state.Progress
		s.Status.Progress = &progress
	}
	return h, nil
}

// refusedForGood reports whether the API server will answer the same to another attempt: the
// content does not fit the schema, is too large, or its namespace is gone.
func refusedForGood(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}

// closeResult makes every part of the result complete once the outcome is decided,
// before anything else of the end. A result that cannot be stored does not keep the
// bed from being cleaned up.
func (r *Reconciler) closeResult(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if !s.Ending() {
		return kit.Proceed(), nil
	}
	r.Poller.forget(keyOf(s.Benchmark))
	if s.Status.Results == nil && s.Status.StartTime == nil || s.Status.Results != nil && s.Status.Results.Digest != "" {
		return kit.Proceed(), nil
	}
	l, err := r.ledger(ctx, s)
	if err == nil {
		err = l.Close()
	}
	if err == nil {
		err = r.store(ctx, s, l)
	}
	if refusedForGood(err) {
		log.FromContext(ctx).Error(err, "The result stays incomplete", "benchmark", keyOf(s.Benchmark))
		return kit.Proceed(), nil
	}
	return kit.Proceed(), err
}
