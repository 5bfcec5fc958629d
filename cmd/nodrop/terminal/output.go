package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/pdf"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Output is the destination and the format of a result.
type Output struct {
	Format  string
	File    string
	formats []report.Format
}

// writer is a result, or a comparison of some.
type writer interface {
	Write(w io.Writer, format report.Format) error
}

// FormatPDF is the report in HTML, printed by an installed Chromium.
const FormatPDF report.Format = "pdf"

// FormatName is the name of each object, one in a line.
const FormatName report.Format = "name"

// ObjectFormats are the formats of all commands that print objects. Commands that print results have them,
// too, and more.
func ObjectFormats() []report.Format {
	return []report.Format{report.FormatTable, report.FormatJSON, report.FormatYAML}
}

// NamedFormats are the formats of commands that print objects of the cluster.
func NamedFormats() []report.Format { return append(ObjectFormats(), FormatName) }

// AddFormat adds the flag of a command that prints objects to stdout only.
func (o *Output) AddFormat(cmd *cobra.Command, formats []report.Format) {
	o.formats = formats
	cmd.Flags().StringVarP(&o.Format, "output", "o", string(report.FormatTable), o.Names())
}

// WriteObject writes an object as JSON or YAML.
func WriteObject(w io.Writer, object any, format report.Format) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object)
	encoded := text.Bytes()
	if err == nil && format == report.FormatYAML {
		encoded, err = yaml.JSONToYAML(encoded)
	}
	if err != nil {
		return fmt.Errorf("encoding as %s: %w", format, err)
	}
	_, err = w.Write(encoded)
	return err
}

// AddFlags adds the flags of a command that can write these formats.
func (o *Output) AddFlags(cmd *cobra.Command, formats []report.Format) {
	o.formats = slices.Clone(formats)
	if at := slices.Index(formats, report.FormatHTML); at >= 0 {
		o.formats = slices.Insert(o.formats, at+1, FormatPDF)
	}
	cmd.Flags().StringVarP(&o.Format, "output", "o", string(report.FormatTable), o.Names()+" (docs/report-formats.md)")
	cmd.Flags().StringVar(&o.File, "output-file", "", "write the result to this file instead of stdout")
}

// Names returns the names of the formats in one text, for help and messages.
func (o *Output) Names() string {
	var names []string
	for _, f := range o.formats {
		names = append(names, string(f))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Check refuses a wrong format, and a file that cannot be written, before anything is
// measured. What is in the file stays.
func (o *Output) Check() error {
	if !slices.Contains(o.formats, report.Format(o.Format)) {
		return fmt.Errorf("%q is not an output format: give %s", o.Format, o.Names())
	}
	if o.Format == string(FormatPDF) {
		if _, err := pdf.Find(); err != nil {
			return fmt.Errorf("-o pdf: %w", err)
		}
	}
	if o.File == "" {
		return nil
	}
	_, before := os.Stat(o.File)
	file, err := os.OpenFile(o.File, os.O_WRONLY|os.O_CREATE, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(fmt.Errorf("--output-file: %w", err), "make its directory first: mkdir -p "+filepath.Dir(o.File))
	case err != nil:
		return hint.With(fmt.Errorf("--output-file: %w", err), "name a file in a directory that you may write to")
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("--output-file: %w", err)
	}
	if errors.Is(before, fs.ErrNotExist) {
		if err := os.Remove(o.File); err != nil {
			return fmt.Errorf("--output-file: %w", err)
		}
	}
	return nil
}

// Write writes the result. With a file that cannot be written the result goes
// to stdout all the same, so that a long measurement is not lost.
func (o *Output) Write(stdout io.Writer, result writer) error {
	format := report.Format(o.Format)
	if format == FormatPDF {
		printed, err := o.printed(stdout, result)
		if err != nil {
			return err
		}
		result = printed
	}
	if o.File == "" {
		return result.Write(stdout, format)
	}
	file, err := os.Create(o.File)
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

// content is a result that was written.
type content []byte

// Write writes the content, whatever the format.
func (c content) Write(w io.Writer, _ report.Format) error {
	_, err := w.Write(c)
	return err
}

// printed is the result as PDF. With a browser that fails, the report goes to stdout as HTML, so that
// a long measurement is not lost.
func (o *Output) printed(stdout io.Writer, result writer) (writer, error) {
	if file, isFile := stdout.(*os.File); o.File == "" && isFile && term.IsTerminal(int(file.Fd())) {
		return nil, hint.With(errors.New("-o pdf: a terminal cannot show a PDF"), "give a file with --output-file report.pdf")
	}
	var page bytes.Buffer
	if err := result.Write(&page, report.FormatHTML); err != nil {
		return nil, err
	}
	browser, err := pdf.Find()
	var text []byte
	if err == nil {
		text, err = browser.Print(context.Background(), page.Bytes())
	}
	if err == nil {
		return content(text), nil
	}
	if _, lost := stdout.Write(page.Bytes()); lost != nil {
		return nil, lost
	}
	return nil, fmt.Errorf("-o pdf (the report is on stdout as HTML instead): %w", err)
}
