package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"gocloud.dev/gcerrors"
)

// Get returns a document as text (JSON, or YAML where a file has it). The argument
// is the URL of a document in an archive, or the path of a file. It is decompressed
// where it was compressed. Where a file with its SHA-256 is next to it, as in an
// archive, a document with another one is an error.
func Get(ctx context.Context, where string) ([]byte, error) {
	l, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	read := readFile
	if l.scheme != schemeFile {
		s := &Store{location: location{scheme: l.scheme, bucket: l.bucket, query: l.query}}
		defer func() { _ = s.Close() }()
		read = s.read
	}
	stored, err := read(ctx, l.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	switch line, err := read(ctx, l.path+digestSuffix); {
	case err == nil:
		if err := check(stored, string(line), path.Base(l.path)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", where, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the digest of %s: %w", where, err)
	}
	text, err := decode(stored)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	return text, nil
}

// check compares a document with its digest, a line as sha256sum writes it.
func check(stored []byte, line, name string) error {
	sum := sha256.Sum256(stored)
	have := hex.EncodeToString(sum[:])
	if want, _, _ := strings.Cut(strings.TrimSpace(line), " "); have != want {
		return fmt.Errorf("the document was changed or damaged: its SHA-256 is %s, and %s has %q", have, name+digestSuffix, want)
	}
	return nil
}

func readFile(_ context.Context, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f)
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
	return readAll(r)
}
