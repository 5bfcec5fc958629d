// Package pages reads lists from an API server in parts.
package pages

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Each lists objects in pages of at most size, each into a list of its own, which empty makes, and passes each
// page to do.
func Each[L client.ObjectList](ctx context.Context, reader client.Reader, size int64, empty func() L, do func(L), selection ...client.ListOption) error {
	for next := ""; ; {
		page := empty()
		if err := reader.List(ctx, page, slices.Concat(selection, []client.ListOption{client.Limit(size), client.Continue(next)})...); err != nil {
			return err
		}
		do(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}
