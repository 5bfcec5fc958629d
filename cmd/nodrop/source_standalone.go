//go:build standalone

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/archive/document"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/report"
)

// sourceArgument describes the argument that names a result.
const sourceArgument = "FILE"

const (
	sourceHelp = `A result is given by the name of a file that -o json or -o yaml has written,
compressed with zstd or not.`
	sourceExamples = ""
)

// historyArgument describes the argument that names the results of a history.
const historyArgument = "DIRECTORY|FILE"

const (
	historyHelp     = "Results are given by directories, or by files that -o json or -o yaml has written."
	historyExamples = ""
)

// source reads finished results from files.
type source struct{}

func newSource(*cobra.Command) *source { return &source{} }

// history is the file that an argument names.
func (*source) history(_ context.Context, name string) ([]string, error) { return []string{name}, nil }

// read returns the result in a file.
func (*source) read(ctx context.Context, name string) (*report.Document, error) {
	if isURL(name) || !isFile(name) {
		return nil, hint.With(fmt.Errorf("%q is not a file: this binary was built with the tag standalone, and reads files only", name),
			"give a file that nodrop run or kubectl nodrop report wrote with -o json or -o yaml (ending .json, .yaml, .yml or .zst, or with a folder before it), or build without the tag: make build")
	}
	return readDocument(ctx, name, func(ctx context.Context, name string) ([]byte, error) {
		text, err := document.Read(ctx, name, document.File)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		return text, nil
	})
}
