package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"

	"nodrop.dev/nodrop/internal/reporting/report"
)

// digestAsBefore is the digest that a document has with the labels and annotations of the
// one that is stored. They can change after the end of a benchmark, and say nothing about
// what was measured: those that were stored first remain.
func (s *Store) digestAsBefore(ctx context.Context, bucket *blob.Bucket, key string, d *report.Document) (digest, error) {
	r, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		return digest{}, fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	first, err := identityIn(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return digest{}, fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	before := *d
	before.Benchmark.Labels, before.Benchmark.Annotations = first.Labels, first.Annotations
	return digestOf(&before)
}

// identityIn reads which benchmark a stored document is of, and no further; empty where
// the text is no such document.
func identityIn(stored io.Reader) (report.Identity, error) {
	var none report.Identity
	z, err := zstd.NewReader(stored, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return none, fmt.Errorf("decompressing: %w", err)
	}
	defer z.Close()
	text := json.NewDecoder(z)
	if begin, err := text.Token(); err != nil || begin != json.Delim('{') {
		return none, nil
	}
	for text.More() {
		name, err := text.Token()
		if err != nil {
			return none, nil
		}
		if name == "benchmark" {
			var identity report.Identity
			if err := text.Decode(&identity); err != nil {
				return none, nil
			}
			return identity, nil
		}
		var skipped json.RawMessage
		if err := text.Decode(&skipped); err != nil {
			return none, nil
		}
	}
	return none, nil
}
