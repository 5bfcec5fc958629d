// Package pages reads lists from an API server in parts.
package pages

import (
	"context"
	"iter"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All lists objects in pages of at most size, each into a list of its own, which empty makes. An error is the last element.
func All[L client.ObjectList](ctx context.Context, reader client.Reader, size int64, empty func() L, selection ...client.ListOption) iter.Seq2[L, error] {
	return func(yield func(L, error) bool) {
		for next := ""; ; {
			page := empty()
			err := reader.List(ctx, page, slices.Concat(selection, []client.ListOption{client.Limit(size), client.Continue(next)})...)
			if next = page.GetContinue(); !yield(page, err) || err != nil || next == "" {
				return
			}
		}
	}
}
