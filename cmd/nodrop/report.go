package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newReportCommand() *cobra.Command {
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "report " + documents.Argument,
		Short: "Print the result of a benchmark",
		Long: `Print the result of a benchmark: as a table, as a report in HTML or Markdown, or as a
document for programs. The exit code is 0 when there is something to report.

` + documents.Help,
		Example: `  nodrop report result.json -o html --output-file report.html
  nodrop report result.json -o pdf --output-file report.pdf --title "Acceptance test" --customer "Example Networks" --logo logo.svg` + documents.Examples,
		Args: cobra.ExactArgs(1),
	}
	from := documents.NewSource(cmd)
	out.AddFlags(cmd, report.Formats())
	var cover cover
	cover.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := out.Check(); err != nil {
			return err
		}
		shown, err := cover.read(out.Format)
		if err != nil {
			return err
		}
		document, err := from.Read(ctx, args[0])
		if err != nil {
			return err
		}
		document.Cover = shown
		return out.Write(cmd.OutOrStdout(), document)
	}
	return cmd
}
