package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newHistoryCommand() *cobra.Command {
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "history " + documents.HistoryArgument + "...",
		Short: "Show the figures of a benchmark over all its runs, and where their level changed",
		Long: `Show the figures of a benchmark over all its runs, and where their level changed.
Results of other tests, traffic or ports than the newest one are left out; the
device may differ. Rows that can be compared with no other count as absent. There is
nothing to set: docs/design/trends.md says how changes are found, and how often one is
missed or wrong.

` + documents.HistoryHelp,
		Example: `  nodrop history nightly/
  nodrop history nightly/ -o html --output-file nightly/history.html
  nodrop history monday.json tuesday.json wednesday.json -o json` + documents.HistoryExamples,
		Args: cobra.MinimumNArgs(1),
	}
	from := documents.NewSource(cmd)
	out.AddFlags(cmd, report.HistoryFormats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := out.Check(); err != nil {
			return err
		}
		h, err := historyOf(ctx, from, args, filepath.Dir(out.File))
		if err != nil {
			return err
		}
		return out.Write(cmd.OutOrStdout(), h)
	}
	return cmd
}

// historyOf reads the results that arguments name, one after the other. Reports in HTML next to them are
// linked from a directory.
func historyOf(ctx context.Context, from *documents.Source, args []string, dir string) (*report.History, error) {
	var b report.HistoryBuilder
	skip := func(u history.Unreadable) { b.Skip(u) }
	add := func(name string, d *report.Document) error {
		d.Report = reportNextTo(name, dir)
		return b.Add(d)
	}
	if err := eachResult(ctx, from, args, add, skip); err != nil {
		return nil, err
	}
	return b.History()
}

// eachResult passes the figures of the results that arguments name to a function, with their names, one after the
// other. A result in a directory or in a folder of an archive that cannot be read in two attempts is
// passed to skip; it is an error if skip is nil.
func eachResult(ctx context.Context, from *documents.Source, args []string, do func(name string, d *report.Document) error, skip func(history.Unreadable)) error {
	for _, arg := range args {
		names, err := documentsIn(arg)
		if err == nil && names == nil {
			names, err = from.History(ctx, arg)
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			d, err := from.Figures(ctx, name)
			if err != nil && ctx.Err() == nil && skip != nil && name != arg {
				if d, err = from.Figures(ctx, name); err != nil {
					skip(history.Unreadable{Name: name, Reason: err.Error()})
					continue
				}
			}
			if err != nil {
				return err
			}
			if err := do(name, d); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// documentsIn are the results in a directory; none where the argument is no directory.
func documentsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); !e.IsDir() && documents.IsFile(e.Name()) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil, hint.With(fmt.Errorf("directory %s has no file with the ending .json, .yaml, .yml or .zst", dir), "nodrop run -o json --output-file writes one")
	}
	return names, nil
}

// reportNextTo returns the address, relative to a directory, of the report in HTML next to a result:
// monday.html next to monday.json. It is empty if there is none.
func reportNextTo(name, dir string) string {
	if documents.IsURL(name) {
		return ""
	}
	base := strings.TrimSuffix(name, ".zst")
	path := strings.TrimSuffix(base, filepath.Ext(base)) + ".html"
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if relative, err := filepath.Rel(dir, path); err == nil {
		path = relative
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
