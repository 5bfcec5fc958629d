package storing

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/base/pages"
)

// storedKinds are the kinds that KeepForArchive marks.
var storedKinds = []string{"BenchmarkResult", "BenchmarkSnapshot"}

// releaseKept removes the finalizers of the archive from a benchmark, after those from
// what is stored of it: while the benchmark has its own there may be others.
func releaseKept(ctx context.Context, b *kit.Base, benchmark *v1alpha1.Benchmark) error {
	if !controllerutil.ContainsFinalizer(benchmark, v1alpha1.FinalizerArchive) {
		return nil
	}
	selection := []client.ListOption{
		client.InNamespace(benchmark.Namespace),
		client.MatchingLabels{v1alpha1.LabelBenchmarkUID: string(benchmark.UID), v1alpha1.LabelUnarchived: "true"},
	}
	err := eachStored(ctx, b, selection, func(obj *metav1.PartialObjectMetadata) error { return releaseStored(ctx, b, obj) })
	if err != nil {
		return err
	}
	err = kit.RemoveFinalizer(ctx, b.Client, benchmark, v1alpha1.FinalizerArchive, "")
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of the archive: %w", err)
	}
	return nil
}

// releaseStored removes the finalizer from one part or snapshot.
func releaseStored(ctx context.Context, b *kit.Base, obj *metav1.PartialObjectMetadata) error {
	err := kit.RemoveFinalizer(ctx, b.Client, obj, v1alpha1.FinalizerArchive, v1alpha1.LabelUnarchived)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of the archive from %s %s: %w", obj.Kind, obj.Name, err)
	}
	return nil
}

// eachStored calls do for the parts of results and the snapshots of a selection. It
// reads only their metadata, from the API server, a page at a time.
func eachStored(ctx context.Context, b *kit.Base, selection []client.ListOption, do func(*metav1.PartialObjectMetadata) error) error {
	const size = 200
	var errs []error
	for _, kind := range storedKinds {
		empty := func() *metav1.PartialObjectMetadataList {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
			return list
		}
		for page, err := range pages.All(ctx, b.Live, size, empty, selection...) {
			if err != nil {
				return errors.Join(append(errs, fmt.Errorf("listing objects of kind %s: %w", kind, err))...)
			}
			for i := range page.Items {
				obj := &page.Items[i]
				obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
				errs = append(errs, do(obj))
			}
		}
	}
	return errors.Join(errs...)
}

// unarchivedSweep removes finalizers of the archive from parts and snapshots whose
// benchmark does not exist: its finalizer was removed by force, and no event will
// come for it.
type unarchivedSweep struct{ kit.Base }

// NeedLeaderElection is true: only one operator sweeps.
func (s *unarchivedSweep) NeedLeaderElection() bool { return true }

// Start sweeps at once and again after each pause, until the context ends.
func (s *unarchivedSweep) Start(ctx context.Context) error {
	ticker := time.NewTicker(s.Sweep)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "What is left of deleted benchmarks was not swept")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *unarchivedSweep) sweep(ctx context.Context) error {
	selection := []client.ListOption{client.MatchingLabels{v1alpha1.LabelUnarchived: "true"}}
	return eachStored(ctx, &s.Base, selection, func(obj *metav1.PartialObjectMetadata) error {
		owner := metav1.GetControllerOf(obj)
		if owner == nil {
			return nil
		}
		key := client.ObjectKey{Namespace: obj.Namespace, Name: owner.Name}
		benchmark := &v1alpha1.Benchmark{}
		// The cache has nearly all; what it lacks is read from the API server.
		err := s.Get(ctx, key, benchmark)
		if err != nil || benchmark.UID != owner.UID {
			err = s.Live.Get(ctx, key, benchmark)
		}
		switch {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("reading benchmark %s: %w", key, err)
		case err == nil && benchmark.UID == owner.UID && (s.Archive != nil || controllerutil.ContainsFinalizer(benchmark, v1alpha1.FinalizerArchive)):
			return nil
		}
		return releaseStored(ctx, &s.Base, obj)
	})
}
