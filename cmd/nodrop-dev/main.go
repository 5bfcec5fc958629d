// Command nodrop-dev measures NoDrop itself, for people who develop it: what the engine xdp, the
// BGP speaker, the searches and the queue cost in comparison with others.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/version"
)

func main() {
	root := &cobra.Command{
		Use:           "nodrop-dev",
		Short:         "Measure NoDrop itself in comparison with others",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newXDPBenchCommand(), newBGPBenchCommand(), newSearchCostCommand(), newLabSimCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "nodrop-dev:", err)
		if text := hint.Of(err); text != "" {
			fmt.Fprintln(os.Stderr, "hint:", text)
		}
		os.Exit(1)
	}
}
