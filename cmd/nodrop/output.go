package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/report"
)

// output is the destination and the format of a result.
type output struct {
	format  string
	file    string
	formats []report.Format
}

// writer is a result, or a comparison of some.
type writer interface {
	Write(w io.Writer, format report.Format) error
}

// addFlags adds the flags of a command that can write these formats.
func (o *output) addFlags(cmd *cobra.Command, formats []report.Format) {
	o.formats = formats
	cmd.Flags().StringVarP(&o.format, "output", "o", string(report.FormatTable), o.names()+" (docs/report-formats.md)")
	cmd.Flags().StringVar(&o.file, "output-file", "", "write the result to this file instead of stdout")
}

func (o *output) names() string {
	var names []string
	for _, f := range o.formats {
		names = append(names, string(f))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// check refuses a wrong format, and a file that cannot be written, before anything is
// measured. What is in the file stays.
func (o *output) check() error {
	if !slices.Contains(o.formats, report.Format(o.format)) {
		return fmt.Errorf("%q is not an output format: give %s", o.format, o.names())
	}
	if o.file == "" {
		return nil
	}
	_, before := os.Stat(o.file)
	file, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(fmt.Errorf("--output-file: %w", err), "make its directory first: mkdir -p "+filepath.Dir(o.file))
	case err != nil:
		return hint.With(fmt.Errorf("--output-file: %w", err), "name a file in a directory that you may write to")
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("--output-file: %w", err)
	}
	if errors.Is(before, fs.ErrNotExist) {
		if err := os.Remove(o.file); err != nil {
			return fmt.Errorf("--output-file: %w", err)
		}
	}
	return nil
}

// write writes the result. With a file that cannot be written the result goes
// to stdout all the same, so that a long measurement is not lost.
func (o *output) write(stdout io.Writer, result writer) error {
	format := report.Format(o.format)
	if o.file == "" {
		return result.Write(stdout, format)
	}
	file, err := os.Create(o.file)
	if err == nil {
		err = result.Write(file, format)
		if closing := file.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		if lost := result.Write(stdout, format); lost != nil {
			return lost
		}
		return fmt.Errorf("writing the result to a file (it is on stdout instead): %w", err)
	}
	return nil
}
