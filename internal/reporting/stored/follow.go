package stored

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Follower reads rows while they are stored, each of them once.
type Follower struct {
	// open has how many rows of each part that was not complete were read.
	open map[int32]int
	// parts is the number of parts that were begun.
	parts int32
}

// Read returns the rows that were stored since the last call, as far as the
// benchmark's status counts them.
func (f *Follower) Read(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) ([]v1alpha1.ResultRow, error) {
	if b.Status.Results == nil {
		return nil, nil
	}
	if f.open == nil {
		f.open = map[int32]int{}
	}
	for ; f.parts < b.Status.Results.Parts; f.parts++ {
		if f.parts >= b.Status.Results.DiscardedParts {
			f.open[f.parts+1] = 0
		}
	}
	var rows []v1alpha1.ResultRow
	for _, n := range slices.Sorted(maps.Keys(f.open)) {
		var part v1alpha1.BenchmarkResult
		if err := reader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: PartName(b, n)}, &part); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue // It was deleted, or is of another benchmark of this name.
			}
			return rows, fmt.Errorf("reading part %d of the result of benchmark %s: %w", n, b.Name, err)
		}
		rows = append(rows, part.Spec.Rows[min(f.open[n], len(part.Spec.Rows)):]...)
		f.open[n] = len(part.Spec.Rows)
		if part.Spec.Complete {
			delete(f.open, n)
		}
	}
	return rows, nil
}
