package main

import (
	"context"
	"errors"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newCompareCommand() *cobra.Command {
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "compare BASELINE OTHER...",
		Short: "Rank the results of several benchmarks, and print their differences",
		Long: `Rank the results of several benchmarks: of devices, dates, or configurations of
one device. LABEL=ARGUMENT gives a result another name in the tables. The first one is
the baseline of all differences. Results of other ports or tests are refused, and there
is no winner where trials, traffic or kinds of device differ. The exit code is 0 when there is something to compare, whichever result is better.

` + documents.Help,
		Example: `  nodrop compare before.json after.json
  nodrop compare "FEC off=off.json" "FEC on=on.json" -o html --output-file fec.html`,
		Args: cobra.MinimumNArgs(1),
	}
	from := documents.NewSource(cmd)
	out.AddFlags(cmd, report.ComparisonFormats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := out.Check(); err != nil {
			return err
		}
		if len(args) < 2 {
			return hint.With(errors.New("a comparison needs at least two results"), "nodrop compare before.json after.json")
		}
		comparison, err := compared(ctx, from, args)
		if err != nil {
			return err
		}
		return out.Write(cmd.OutOrStdout(), comparison)
	}
	return cmd
}

// compared reads and compares results. Without a label a result is named after
// its benchmark, or after its argument when benchmarks have the same name.
func compared(ctx context.Context, from *documents.Source, args []string) (*report.Comparison, error) {
	var read []*report.Document
	labels, names := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		// A URL has equals signs of its own.
		if label, rest, labelled := strings.Cut(arg, "="); labelled && label != "" && !documents.IsURL(label) {
			labels[i], arg = label, rest
		}
		document, err := from.Read(ctx, arg)
		if err != nil {
			return nil, err
		}
		read = append(read, document)
		names[i] = document.Benchmark.Name
	}
	for i, label := range labels {
		same := func(name string) bool { return name == read[i].Benchmark.Name }
		switch {
		case label != "":
			names[i] = label
		case slices.ContainsFunc(slices.Delete(slices.Clone(names), i, i+1), same):
			labels[i] = args[i]
		}
	}
	for i, label := range labels {
		if label != "" {
			names[i] = label
		}
	}
	comparison, err := report.Compare(read, names)
	if different := new(report.IncomparableError); errors.As(err, &different) {
		return nil, hint.With(err, "compare results of the same tests and ports")
	}
	return comparison, hint.With(err, "LABEL=FILE gives a result another name")
}
