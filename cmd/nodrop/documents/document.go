// Package documents finds the results that an argument of a command names: benchmarks of a cluster,
// files, and documents of an archive.
package documents

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// IsURL reports whether an argument is the URL of a document in an archive.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// IsFile reports whether an argument is a file: it has the ending of one, or a
// folder before it. A benchmark's name has neither.
func IsFile(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".zst"}, filepath.Ext(name)) || strings.ContainsRune(name, filepath.Separator)
}

// use passes the text of a document to a function.
type use func(ctx context.Context, where string, do func(text io.Reader) error) error

// readDocument reads a document in an archive or in a file, compressed or not.
func readDocument(ctx context.Context, where string, of use) (*report.Document, error) {
	var document *report.Document
	var unreadable error // as a document
	err := of(ctx, where, func(text io.Reader) error {
		document, unreadable = report.ReadFrom(text)
		return unreadable
	})
	switch {
	case err != nil && errors.Is(err, unreadable):
		return nil, hint.With(err, "kubectl nodrop report and nodrop run write a result with -o json")
	case err != nil && IsURL(where):
		return nil, hint.With(err, "status.results.archive.url of a benchmark has the URL of its document; "+
			"the archive of a lab has it under NAMESPACE/NAME/UID.json.zst, and credentials of S3 are those of the environment or of ~/.aws")
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(err, "an argument with a folder or one of the endings .json, .yaml and .zst is a file; the name of a benchmark has neither")
	case err != nil:
		return nil, err
	}
	return document, nil
}
