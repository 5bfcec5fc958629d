package archive

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Get returns a document as text (JSON, or YAML where a file has it). The argument
// is the URL of a document in an archive, or the path of a file. See document.Use.
func Get(ctx context.Context, where string) (text []byte, err error) {
	err = Use(ctx, where, func(r io.Reader) error {
		text, err = io.ReadAll(r)
		return err
	})
	return text, err
}

// Use passes the text of a document to a function, as document.Use does. The argument is the URL
// of a document in an archive, or the path of a file.
func Use(ctx context.Context, where string, use func(text io.Reader) error) error {
	l, err := parseLocation(where)
	if err != nil {
		return err
	}
	open := document.File
	if l.scheme != schemeFile {
		s := &Store{location: location{scheme: l.scheme, bucket: l.bucket, query: l.query}}
		defer func() { _ = s.Close() }()
		open = s.stored
	}
	if err := document.Use(ctx, l.path, open, use); err != nil {
		return fmt.Errorf("reading %s: %w", where, err)
	}
	return nil
}

// stored opens what is stored under a key.
func (s *Store) stored(ctx context.Context, key string) (io.ReadCloser, error) {
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
	return r, nil
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
		var d *report.Document
		err := document.Use(ctx, object.Key, s.stored, func(text io.Reader) (err error) {
			d, err = report.ReadFrom(text)
			return err
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.location.join(object.Key), err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}
