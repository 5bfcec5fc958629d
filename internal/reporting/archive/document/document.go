// Package document reads a result as an archive or a person stored it: JSON or YAML,
// compressed with zstd or not, with its SHA-256 in a file of its own or without.
package document

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// DigestSuffix is appended to the name of a document for the name of its digest, which
// is a line as sha256sum writes it.
const DigestSuffix = ".sha256"

// Open opens what is stored under a name. Its error is fs.ErrNotExist where nothing is.
type Open func(ctx context.Context, name string) (io.ReadCloser, error)

// Use passes the text of the document with a name to a function, decompressed where it was
// compressed. Where its digest is stored too, a document that has another one is an error: what
// the function has read counts only if Use returns nil. A document of more than MaxBytes is a
// TooLargeError.
func Use(ctx context.Context, name string, open Open, use func(text io.Reader) error) error {
	stored, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }()
	want, err := Digest(ctx, name, open)
	if err != nil {
		return err
	}
	digested := &digested{r: stored, hash: sha256.New()}
	err = Decompress(digested, use)
	var large *TooLargeError
	if want == "" || errors.As(err, &large) {
		return err
	}
	// What the function has left is a part of the digest.
	if _, rest := io.Copy(io.Discard, digested); rest != nil {
		return errors.Join(err, rest)
	}
	if have := hex.EncodeToString(digested.hash.Sum(nil)); want != have {
		return fmt.Errorf("the document was changed or damaged: its SHA-256 is %s, and %s has %q", have, path.Base(name)+DigestSuffix, want)
	}
	return err
}

// Digest returns the digest that is stored with a document; empty where none is.
func Digest(ctx context.Context, name string, open Open) (string, error) {
	stored, err := open(ctx, name+DigestSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading its digest: %w", err)
	}
	defer func() { _ = stored.Close() }()
	line, err := io.ReadAll(io.LimitReader(stored, maxDigest))
	if err != nil {
		return "", fmt.Errorf("reading its digest: %w", err)
	}
	digest, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	return digest, nil
}

// maxDigest bounds the line of a digest in bytes.
const maxDigest = 4 << 10

// digested computes the SHA-256 of what is read through it.
type digested struct {
	r    io.Reader
	hash hash.Hash
}

func (d *digested) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.hash.Write(p[:n])
	return n, err
}

// magic are the first bytes of what zstd has compressed.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// maxWindow bounds the memory of decompression in bytes. A document of the archive needs 8 MiB.
const maxWindow = 128 << 20

// Decompress passes what is stored to a function as text: what is not compressed is passed as it
// is. A text of more than MaxBytes is a TooLargeError.
func Decompress(stored io.Reader, use func(text io.Reader) error) error {
	buffered := bufio.NewReaderSize(&bounded{r: stored, limit: MaxBytes}, 64<<10)
	begin, err := buffered.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(begin, magic) {
		return use(buffered)
	}
	z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	defer z.Close()
	return use(&bounded{r: z, limit: MaxBytes, what: "decompressed "})
}

// Read returns the document with a name as text. See Use.
func Read(ctx context.Context, name string, open Open) (text []byte, err error) {
	err = Use(ctx, name, open, func(r io.Reader) error {
		text, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

// File opens a file, for Use.
func File(_ context.Context, name string) (io.ReadCloser, error) { return os.Open(name) }
