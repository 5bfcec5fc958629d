package figures

import (
	"context"
	"fmt"
	"io"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/jsonstream"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Read returns the result in the document with a name as far as its figures go: from the file of
// figures, or from the document if there is no file that can be read and is of this document.
func Read(ctx context.Context, name string, open document.Open) (*report.Document, error) {
	return readOr(ctx, name, open, nil)
}

// readOr is Read with another way to read the document.
func readOr(ctx context.Context, name string, open document.Open, whole Whole) (*report.Document, error) {
	digest, err := document.Digest(ctx, name, open)
	if err != nil {
		return nil, err
	}
	if digest != "" {
		if f, err := ReadFile(ctx, name, open); err == nil && f.Document == digest {
			return f.result(), nil
		}
	}
	if whole == nil {
		return FromDocument(ctx, name, open)
	}
	return whole(ctx, name)
}

// FromDocument returns the result in the document with a name as far as its figures go, without the
// file of figures.
func FromDocument(ctx context.Context, name string, open document.Open) (*report.Document, error) {
	var d *report.Document
	err := document.Use(ctx, name, open, func(text io.Reader) error {
		var err error
		d, err = report.ReadReduced(text, leftOut, func(row *v1alpha1.ResultRow) { *row = reducedRow(row) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return reduced(d), nil
}

// ReadFile returns the file of figures of the document with a name.
func ReadFile(ctx context.Context, name string, open document.Open) (*File, error) {
	stored, err := open(ctx, name+Suffix)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stored.Close() }()
	var f *File
	err = document.Decompress(stored, func(text io.Reader) (err error) {
		f, err = decode(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// maxBytes is the maximum size of the figures of a result in bytes, as JSON.
const maxBytes = 64 << 20

// Decode reads the figures that a File has written.
func Decode(text io.Reader) (*report.Document, error) {
	f, err := decode(text)
	if err != nil {
		return nil, err
	}
	return f.result(), nil
}

func decode(text io.Reader) (*File, error) {
	var f File
	bounded := &io.LimitedReader{R: text, N: maxBytes}
	err := jsonstream.Decoder{}.Decode(bounded, &f)
	switch {
	case bounded.N <= 0:
		return nil, fmt.Errorf("the figures have more than %d MiB", maxBytes>>20)
	case err != nil:
		return nil, fmt.Errorf("decoding the figures: %w", err)
	case f.Schema != Schema:
		return nil, fmt.Errorf("the schema of the figures is %q, not %q", f.Schema, Schema)
	}
	return &f, nil
}
