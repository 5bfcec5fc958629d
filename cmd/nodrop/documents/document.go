// Package documents finds the results that an argument of a command names: benchmarks of a cluster,
// files, and documents of an archive.
package documents

import (
	"errors"
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

// explained adds to the error of a document that was not read how one is given.
func explained(where string, d *report.Document, err error) (*report.Document, error) {
	var format *report.FormatError
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &format):
		return nil, hint.With(err, "kubectl nodrop report and nodrop run write a result with -o json")
	case IsURL(where):
		return nil, hint.With(err, "status.results.archive.url of a benchmark has the URL of its document; "+
			"the archive of a lab has it under NAMESPACE/NAMESPACE-UID/NAME/UID.json.zst, and credentials of S3 come from the environment or from ~/.aws")
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(err, "an argument with a folder or one of the endings .json, .yaml and .zst is a file; the name of a benchmark has neither")
	}
	return nil, err
}
