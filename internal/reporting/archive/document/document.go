// Package document reads a result as an archive or a person stored it: JSON or YAML,
// compressed with zstd or not, with its SHA-256 in a file of its own or without.
package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"nodrop.dev/nodrop/internal/base/canonical"
)

// DigestSuffix is appended to the name of a document for the name of its digest, which
// is a line as sha256sum writes it.
const DigestSuffix = ".sha256"

// Read returns the document with a name as text. get returns what is stored under a
// name, and an error that is fs.ErrNotExist where nothing is. The document is
// decompressed where it was compressed. Where its digest is stored too, a document that
// has another one is an error.
func Read(ctx context.Context, name string, get func(ctx context.Context, name string) ([]byte, error)) ([]byte, error) {
	stored, err := get(ctx, name)
	if err != nil {
		return nil, err
	}
	switch line, err := get(ctx, name+DigestSuffix); {
	case err == nil:
		if err := check(stored, string(line), path.Base(name)); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading its digest: %w", err)
	}
	return decode(stored)
}

// check compares a document with the line of its digest.
func check(stored []byte, line, name string) error {
	have := canonical.Sum(stored)
	if want, _, _ := strings.Cut(strings.TrimSpace(line), " "); have != want {
		return fmt.Errorf("the document was changed or damaged: its SHA-256 is %s, and %s has %q", have, name+DigestSuffix, want)
	}
	return nil
}

// File returns the content of a file, for Read.
func File(_ context.Context, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(f)
}

// magic are the first bytes of what zstd has compressed.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// maxDocument bounds a document in bytes when it is read.
const maxDocument = 1 << 30

// decode returns a document as text. What is not compressed is returned as it is.
func decode(stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, magic) {
		return stored, nil
	}
	z, err := zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	defer z.Close()
	return ReadAll(z)
}

// ReadAll reads a document, of at most 1 GiB.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxDocument:
		return nil, fmt.Errorf("the document is larger than %d bytes", maxDocument)
	}
	return text, nil
}
