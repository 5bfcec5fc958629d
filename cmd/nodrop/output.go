package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/report"
)

// output is where a result goes and how it looks.
type output struct {
	format string
	file   string
}

func (o *output) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", string(report.FormatTable), "table, json or yaml (docs/result-schema.md)")
	cmd.Flags().StringVar(&o.file, "output-file", "", "write the result to this file instead of stdout")
}

// check refuses a wrong format before anything is measured.
func (o *output) check() error {
	_, err := report.ParseFormat(o.format)
	return err
}

// write writes the result. With a file that cannot be written the result goes
// to stdout all the same, so that a long measurement is not lost.
func (o *output) write(stdout io.Writer, document *report.Document) error {
	format, err := report.ParseFormat(o.format)
	if err != nil {
		return err
	}
	if o.file == "" {
		return document.Write(stdout, format)
	}
	file, err := os.Create(o.file)
	if err == nil {
		err = document.Write(file, format)
		if closing := file.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		if lost := document.Write(stdout, format); lost != nil {
			return lost
		}
		return fmt.Errorf("writing the result to a file (it is on stdout instead): %w", err)
	}
	return nil
}
