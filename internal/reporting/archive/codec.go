package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"nodrop.dev/nodrop/internal/reporting/report"
)

// digest is the SHA-256 and the size of a document as it is stored.
type digest struct {
	hex   string
	bytes int64
}

// meter counts and digests what is written through it.
type meter struct {
	w     io.Writer
	hash  hash.Hash
	bytes int64
}

func newMeter(w io.Writer) *meter { return &meter{w: w, hash: sha256.New()} }

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.hash.Write(p[:n])
	m.bytes += int64(n)
	return n, err
}

func (m *meter) sum() digest { return digest{hex: hex.EncodeToString(m.hash.Sum(nil)), bytes: m.bytes} }

// encode writes a document as compressed JSON.
func encode(w io.Writer, d *report.Document) (digest, error) {
	return compress(w, func(w io.Writer) error { return d.Write(w, report.FormatJSON) })
}

// compress writes what a function writes, compressed. One goroutine compresses, so that equal
// texts have equal bytes.
func compress(w io.Writer, write func(io.Writer) error) (digest, error) {
	m := newMeter(w)
	z, err := zstd.NewWriter(m, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return digest{}, fmt.Errorf("compressing: %w", err)
	}
	if err := errors.Join(write(z), z.Close()); err != nil {
		return digest{}, err
	}
	return m.sum(), nil
}

// digestOf is the digest that a document would have.
func digestOf(d *report.Document) (digest, error) { return encode(io.Discard, d) }

func digestOfReader(r io.Reader) (digest, error) {
	m := newMeter(io.Discard)
	if _, err := io.Copy(m, r); err != nil {
		return digest{}, err
	}
	return m.sum(), nil
}

// digestLine is a line as sha256sum writes it.
func digestLine(hex, name string) string { return hex + "  " + name + "\n" }
