package archive

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"gocloud.dev/blob"

	"nodrop.dev/nodrop/internal/archive/document"
	"nodrop.dev/nodrop/internal/report"
)

// EachOf passes the results of a history to a function, one after the other: the newest ones,
// by the time at which they were written, in any order. The name of a history is that of its
// benchmarks, unless they give another one.
func (s *Store) EachOf(ctx context.Context, namespace, history string, newest int, do func(*report.Document) error) error {
	bucket, err := s.open(ctx)
	if err != nil {
		return err
	}
	folder := path.Join(namespace, history)
	all, err := documents(ctx, bucket, folder+"/")
	if err != nil {
		return fmt.Errorf("listing %s: %w", s.location.join(folder), err)
	}
	slices.SortFunc(all, func(a, b *blob.ListObject) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(a.Key, b.Key))
	})
	for _, object := range all[:min(len(all), newest)] {
		text, err := document.Read(ctx, object.Key, s.read)
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.location.join(object.Key), err)
		}
		d, err := report.Read(text)
		if err != nil {
			return fmt.Errorf("%s: %w", s.location.join(object.Key), err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}
