package benchmarks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// ledgers stores the results of benchmarks, and remembers what is stored of running ones. All of
// it can be read from the API again.
type ledgers struct {
	client client.Client
	// live reads from the API server.
	live client.Reader
	// archive is where results go later; nil without one.
	archive kit.Archive

	remembered[*results.Ledger]
}

// open returns what is stored of the benchmark's result. One reconcile of the benchmark
// uses it at a time.
func (ls *ledgers) open(ctx context.Context, s *kit.Scope) (*results.Ledger, error) {
	if known := ls.of(s.Benchmark); known != nil && !known.Outdated(s.Status.Results) {
		return known, nil
	}
	l, err := results.Open(s.DeepCopy(), stored.EachPart(ctx, ls.live, s.Benchmark))
	if err != nil {
		return nil, err
	}
	ls.remember(s.Benchmark, l)
	return l, nil
}

// store writes what changed in the ledger, and summarizes it in the status. A ledger that
// was not written completely is discarded: the API is authoritative.
func (ls *ledgers) store(ctx context.Context, s *kit.Scope, l *results.Ledger) error {
	err := l.Write(func(part *v1alpha1.BenchmarkResult) error {
		if part.ResourceVersion == "" {
			kit.KeepForArchive(part, ls.archive)
			return ls.client.Create(ctx, part)
		}
		return ls.client.Update(ctx, part)
	})
	if err != nil {
		ls.forget(keyOf(s.Benchmark))
		if apierrors.IsAlreadyExists(err) { // Another operator began the part since the ledger was opened.
			err = apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarkresults").GroupResource(), s.Name, err)
		}
		return fmt.Errorf("storing the result of benchmark %s: %w", s.Name, err)
	}
	ls.summarize(s, l)
	return nil
}

// summarize takes the counts of a ledger over to the status.
func (ls *ledgers) summarize(s *kit.Scope, l *results.Ledger) {
	if s.Status.Results == nil {
		s.Status.Results = &v1alpha1.ResultSummary{}
	}
	l.Summarize(s.Status.Results)
}

// closeParts makes the parts of the result complete, so that the rows of the next run are in
// parts of their own. Without a row there is nothing to keep.
func (ls *ledgers) closeParts(ctx context.Context, s *kit.Scope) error {
	l, err := ls.open(ctx, s)
	if err != nil {
		return err
	}
	if len(l.Rows()) > 0 {
		if err := l.Close(); err != nil {
			return err
		}
	}
	if err := ls.store(ctx, s, l); err != nil && !refusedForGood(err) {
		return err
	}
	s.Status.Results.Digest = "" // More parts may come.
	return nil
}

// refusedForGood reports whether the API server will answer the same to another attempt: the
// content does not fit the schema, is too large, or its namespace is gone.
func refusedForGood(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}
