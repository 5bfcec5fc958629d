package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/report"
)

func newReportCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "report " + sourceArgument,
		Short: "Print the result of a benchmark",
		Long: `Print the result of a benchmark: as a table, as a report in HTML or Markdown, or as a
document for programs. The exit code is 0 when there is something to report.

` + sourceHelp,
		Example: `  nodrop report result.json -o html --output-file report.html` + sourceExamples,
		Args:    cobra.ExactArgs(1),
	}
	from := newSource(cmd)
	out.addFlags(cmd, report.Formats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := out.check(); err != nil {
			return err
		}
		document, err := from.read(ctx, args[0])
		if err != nil {
			return err
		}
		return out.write(cmd.OutOrStdout(), document)
	}
	return cmd
}
