package archive

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Get returns a document as text (JSON, or YAML where a file has it). The argument
// is the URL of a document in an archive, or the path of a file. See document.Read.
func Get(ctx context.Context, where string) ([]byte, error) {
	l, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	read := document.File
	if l.scheme != schemeFile {
		s := &Store{location: location{scheme: l.scheme, bucket: l.bucket, query: l.query}}
		defer func() { _ = s.Close() }()
		read = s.read
	}
	text, err := document.Read(ctx, l.path, read)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	return text, nil
}

func (s *Store) read(ctx context.Context, key string) ([]byte, error) {
	bucket, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return document.ReadAll(r)
}

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
