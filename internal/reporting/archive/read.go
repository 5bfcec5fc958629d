package archive

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/archive/figures"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Get returns a document as text (JSON, or YAML where a file has it). The argument
// is the URL of a document in an archive, or the path of a file. See document.Use.
func Get(ctx context.Context, where string) (text []byte, err error) {
	err = at(where, func(name string, open document.Open) (err error) {
		text, err = document.Read(ctx, name, open)
		return err
	})
	return text, err
}

// Result returns the result in a document with all of its rows. The argument is the URL of a document
// in an archive, or the path of a file.
func Result(ctx context.Context, where string) (d *report.Document, err error) {
	err = at(where, func(name string, open document.Open) (err error) {
		d, err = document.Result(ctx, name, open)
		return err
	})
	return d, err
}

// Figures returns the result in a document as far as its figures go, as figures.Read does. The
// argument is the URL of a document in an archive, or the path of a file.
func Figures(ctx context.Context, where string) (d *report.Document, err error) {
	err = at(where, func(name string, open document.Open) (err error) {
		d, err = figures.Read(ctx, name, open)
		return err
	})
	return d, err
}

// at calls a function with the name of a document in its archive or file system.
func at(where string, do func(name string, open document.Open) error) error {
	l, err := parseLocation(where)
	if err != nil {
		return err
	}
	open := document.Open(document.File)
	if l.scheme != schemeFile {
		s := &Store{location: location{scheme: l.scheme, bucket: l.bucket, query: l.query}}
		defer func() { _ = s.Close() }()
		open = s.stored
	}
	if err := do(l.path, open); err != nil {
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

// Result returns one result of a history with all of its rows. Its error is fs.ErrNotExist if
// the archive has no such result.
func (s *Store) Result(ctx context.Context, of history.Key, uid string) (*report.Document, error) {
	key, err := keyOf(of, uid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	d, err := document.Result(ctx, key, s.stored)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	return d, nil
}

// Copy writes the JSON of one result of a history as it is stored. Its error is fs.ErrNotExist if the
// archive has no such result.
func (s *Store) Copy(ctx context.Context, of history.Key, uid string, out io.Writer) error {
	key, err := keyOf(of, uid)
	if err != nil {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	err = document.Use(ctx, key, s.stored, func(text io.Reader) error {
		_, err := io.Copy(out, text)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	return nil
}

// WriteFigures writes the figures of the document with a key, not compressed, as they are read
// from the document itself.
func (s *Store) WriteFigures(ctx context.Context, key string, out io.Writer) error {
	d, err := figures.FromDocument(ctx, key, s.stored)
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	return figures.Of(d, "").Write(out)
}

// EachOf passes the results of a history as far as their figures go to a function, one after the
// other: the newest ones, by the time at which they were written, in any order. Results that could not be
// read in two attempts are returned, unless the archive cannot be read at all.
func (s *Store) EachOf(ctx context.Context, of history.Key, newest int, do func(*report.Document) error) ([]history.Unreadable, error) {
	folder, err := folderOf(of)
	if err != nil {
		return nil, err
	}
	bucket, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := entries(ctx, bucket, folder+"/")
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.location.join(folder), err)
	}
	slices.SortFunc(all, func(a, b *blob.ListObject) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(a.Key, b.Key))
	})
	var names []string
	for _, object := range all[:min(len(all), newest)] {
		names = append(names, object.Key)
	}
	unreadable, err := figures.Each(ctx, names, s.stored, s.Whole, do)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.location.join(folder), err)
	}
	return unreadable, nil
}
