package figures

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"

	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const (
	// attempts is the number of times that a document is read before it is left out.
	attempts = 2
	// maxFailures is the number of documents in a row that fail to be opened or read before the
	// archive is asked whether it works at all.
	maxFailures = 3
	// maxReason bounds the reason of an unreadable document in characters.
	maxReason = 256
)

// Whole reads the figures of a document that has no file of figures. Nil reads the document in this
// process.
type Whole func(ctx context.Context, name string) (*report.Document, error)

// maxRows is the maximum number of rows of all results together.
const maxRows = 500_000

// Each passes the results in documents as far as their figures go to a function, one after the
// other. It returns the documents that could not be read in two attempts. An archive that cannot
// be read is an error, and so is an error of the function. Documents behind the first ones that have
// maxRows rows together are left out: a history is in memory as a whole.
func Each(ctx context.Context, names []string, open document.Open, whole Whole, do func(*report.Document) error) ([]history.Unreadable, error) {
	var unreadable []history.Unreadable
	good := "" // a document that could be read
	failures, rows := 0, 0
	var failure error
	for _, name := range names {
		if rows >= maxRows {
			break
		}
		d, failed, err := read(ctx, name, open, whole)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			unreadable = append(unreadable, history.Unreadable{Name: path.Base(name), Reason: reason(err)})
			if !failed {
				continue
			}
			failure = err
			if failures++; failures < maxFailures {
				continue
			}
			if !works(ctx, good, open) {
				return nil, failure
			}
			failures = 0
			continue
		}
		good, failures, failure = name, 0, nil
		rows += len(d.Rows)
		if err := do(d); err != nil {
			return nil, err
		}
	}
	if failure != nil && !works(ctx, good, open) {
		return nil, failure
	}
	return unreadable, nil
}

// works reports whether a document that could be read still can be found.
func works(ctx context.Context, good string, open document.Open) bool {
	if good == "" {
		return false
	}
	stored, err := open(ctx, good)
	if err != nil {
		return false
	}
	return stored.Close() == nil
}

// read reads the figures of a document, twice if need be. It reports whether the archive failed,
// and not what the document contains.
func read(ctx context.Context, name string, open document.Open, whole Whole) (d *report.Document, failed bool, err error) {
	for range attempts {
		w := &watched{open: open}
		if d, err = readOr(ctx, name, w.opened, whole); err == nil || ctx.Err() != nil {
			return d, false, err
		}
		failed = w.failed
	}
	return nil, failed, err
}

// watched notes whether something could not be opened or read.
type watched struct {
	open   document.Open
	failed bool
}

func (w *watched) opened(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := w.open(ctx, name)
	if err != nil {
		w.failed = w.failed || !errors.Is(err, fs.ErrNotExist)
		return nil, err
	}
	return &watchedReader{r, w}, nil
}

type watchedReader struct {
	io.ReadCloser
	w *watched
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.w.failed = r.w.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// reason is an error as the reason of an unreadable document.
func reason(err error) string {
	text := []rune(err.Error())
	if len(text) > maxReason {
		return string(text[:maxReason-1]) + "…"
	}
	return string(text)
}
