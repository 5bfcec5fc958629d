package document

import (
	"context"
	"io"

	"nodrop.dev/nodrop/internal/reporting/report"
)

// Result returns the result in the document with a name, with all of its rows. See Use.
func Result(ctx context.Context, name string, open Open) (d *report.Document, err error) {
	err = Use(ctx, name, open, func(text io.Reader) error {
		d, err = report.ReadFrom(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
