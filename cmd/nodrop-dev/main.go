// Command nodrop-dev measures NoDrop itself, for people who develop it: what the engine xdp, the
// BGP speaker, the searches and the queue cost in comparison with others.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/version"
)

func main() {
	root := &cobra.Command{
		Use:           "nodrop-dev",
		Short:         "Measure NoDrop itself in comparison with others",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newXDPBenchCommand(), newBGPBenchCommand(), newSearchCostCommand(), newLabSimCommand(), newGroundTruthCommand(), newHostileTeamCommand())
	if err := root.Execute(); err != nil {
		os.Exit(exit.Explain(os.Stderr, root.Name(), err))
	}
}
