// Command nodrop is the whole of NoDrop in one binary: the operator, the agent
// and the runner that it starts in pods, and the commands that people use,
// alone or as the kubectl plugin "kubectl nodrop".
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/version"
)

func main() {
	root := &cobra.Command{
		Use:           "nodrop",
		Short:         "Measure network devices",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newRunCommand(),
		newWatchCommand(),
		newReportCommand(),
		newOperatorCommand(),
		newRunnerCommand(),
		newAgentCommand(),
		newDeviceCommand(),
	)
	if err := root.Execute(); err != nil {
		os.Exit(report(root.ErrOrStderr(), err))
	}
}
