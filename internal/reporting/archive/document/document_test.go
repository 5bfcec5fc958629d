package document_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
)

// files opens what a map has.
func files(all map[string][]byte) document.Open {
	return func(_ context.Context, name string) (io.ReadCloser, error) {
		text, ok := all[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(text)), nil
	}
}

// compressed is a text that a function writes, in the form of the archive.
func compressed(t *testing.T, write func(w io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err == nil {
		err = errors.Join(write(z), z.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestLimit refuses a document that is small as it is stored and has more than the limit
// decompressed, without a text in memory.
func TestLimit(t *testing.T) {
	bomb := compressed(t, func(w io.Writer) error {
		block := make([]byte, 1<<20)
		for range document.MaxBytes>>20 + 1 {
			if _, err := w.Write(block); err != nil {
				return err
			}
		}
		return nil
	})
	all := files(map[string][]byte{"a.json.zst": bomb, "a.json.zst.sha256": []byte(canonical.Sum(bomb) + "  a.json.zst\n")})
	read := int64(0)
	err := document.Use(t.Context(), "a.json.zst", all, func(text io.Reader) (err error) {
		read, err = io.Copy(io.Discard, text)
		return err
	})
	var large *document.TooLargeError
	if !errors.As(err, &large) || large.Limit != document.MaxBytes || read > document.MaxBytes {
		t.Fatalf("%d bytes were read: %v", read, err)
	}
	for _, want := range []string{"decompressed", "512 MiB", "divide the tests"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// TestDigest compares the digest of the whole document, also of one that was read in part.
func TestDigest(t *testing.T) {
	text := compressed(t, func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat("text ", 1<<20)); return err })
	name := "a.json.zst"
	right := []byte(canonical.Sum(text) + "  a.json.zst\n")
	for of, c := range map[string]struct {
		text, digest []byte
		want         string
	}{
		"right":       {text, right, ""},
		"none":        {text, nil, ""},
		"another":     {text, []byte(strings.Repeat("0", 64) + "  a.json.zst\n"), "changed or damaged"},
		"damaged end": {append(bytes.Clone(text[:len(text)-1]), text[len(text)-1]^1), right, "changed or damaged"},
		"cut":         {text[:len(text)/2], right, "changed or damaged"},
	} {
		t.Run(of, func(t *testing.T) {
			stored := map[string][]byte{name: c.text}
			if c.digest != nil {
				stored[name+document.DigestSuffix] = c.digest
			}
			err := document.Use(t.Context(), name, files(stored), func(text io.Reader) error {
				_, err := io.ReadFull(text, make([]byte, 100))
				return err
			})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
