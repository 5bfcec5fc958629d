package archive

import (
	"context"
	"fmt"
	"io/fs"

	"gocloud.dev/gcerrors"

	"nodrop.dev/nodrop/internal/archive/document"
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
