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
	digest, err := document.Digest(ctx, name, open)
	if err != nil {
		return nil, err
	}
	if digest != "" {
		if f, err := ReadFile(ctx, name, open); err == nil && f.Document == digest {
			return f.result(), nil
		}
	}
	var d *report.Document
	err = document.Use(ctx, name, open, func(text io.Reader) error {
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
	var f File
	err = document.Decompress(stored, func(text io.Reader) error { return jsonstream.Decoder{}.Decode(text, &f) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("decoding the figures: %w", err)
	case f.Schema != Schema:
		return nil, fmt.Errorf("the schema of the figures is %q, not %q", f.Schema, Schema)
	}
	return &f, nil
}
