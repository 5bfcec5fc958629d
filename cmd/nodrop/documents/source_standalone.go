//go:build standalone

package documents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/archive/figures"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Argument describes the argument that names a result.
const Argument = "FILE"

// Help describes how a result is named, and Examples shows it.
const (
	Help = `A result is given by the name of a file that -o json or -o yaml has written,
compressed with zstd or not.`
	Examples = ""
)

// HistoryArgument describes the argument that names the results of a history.
const HistoryArgument = "DIRECTORY|FILE"

// HistoryHelp describes how the results of a history are named, and HistoryExamples shows it.
const (
	HistoryHelp     = "Results are given by directories, or by files that -o json or -o yaml has written."
	HistoryExamples = ""
)

// Source reads finished results from files.
type Source struct{}

// NewSource returns the source of a command.
func NewSource(*cobra.Command) *Source { return &Source{} }

// History is the file that an argument names.
func (*Source) History(_ context.Context, name string) ([]string, error) { return []string{name}, nil }

// Read returns the result in a file.
func (*Source) Read(ctx context.Context, name string) (*report.Document, error) {
	return inFile(name, func() (*report.Document, error) { return document.Result(ctx, name, document.File) })
}

// Figures returns the result in a file as far as its figures go, which is quick for large ones.
func (*Source) Figures(ctx context.Context, name string) (*report.Document, error) {
	return inFile(name, func() (*report.Document, error) { return figures.Read(ctx, name, document.File) })
}

// inFile reads a result if a name is that of a file.
func inFile(name string, read func() (*report.Document, error)) (*report.Document, error) {
	if IsURL(name) || !IsFile(name) {
		return nil, hint.With(fmt.Errorf("%q is not a file: this binary was built with the tag standalone, and reads files only", name),
			"give a file that nodrop run or kubectl nodrop report wrote with -o json or -o yaml (ending .json, .yaml, .yml or .zst, or with a folder before it), or build without the tag: make build")
	}
	d, err := read()
	if err != nil {
		err = fmt.Errorf("reading %s: %w", name, err)
	}
	return explained(name, d, err)
}
