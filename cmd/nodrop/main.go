// Command nodrop is the whole of NoDrop in one binary: the operator, the agent
// and the runner that it starts in pods, and the commands that people use,
// alone or as the kubectl plugin "kubectl nodrop".
package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/version"
)

// pluginName is the name of the binary, or of a link to it, that kubectl runs for "kubectl
// nodrop".
const pluginName = "kubectl-nodrop"

func main() {
	root := newRootCommand(filepath.Base(os.Args[0]))
	root.SetOut(terminal.NewScreen(os.Stdout, false))
	root.SetErr(terminal.NewScreen(os.Stderr, true))
	if err := root.Execute(); err != nil {
		os.Exit(exit.Explain(root.ErrOrStderr(), root.Name(), err))
	}
}

func newRootCommand(name string) *cobra.Command {
	root := &cobra.Command{
		Use:           "nodrop",
		Short:         "Measure network devices: throughput without loss, latency and jitter",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if name == pluginName {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl nodrop"}
	}
	setUpFlags(root)
	root.AddGroup(&cobra.Group{ID: forPeople, Title: "Commands for people:"})
	add(root, forPeople, newInitCommand(), newValidateCommand(), newRenderCommand(), newRunCommand(), newCleanCommand(), newConfigureCommand(), newReportCommand(), newCompareCommand(), newHistoryCommand(), newVerifyCommand(), newSignCommand(), newVersionCommand(), newFrameFromPCAPCommand())
	addClusterCommands(root)
	return root
}

// forPeople is a group of commands in the help.
const forPeople = "people"

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.GroupID = group
		root.AddCommand(command)
	}
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go release that this binary was built from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write([]byte(version.Details()))
			return err
		},
	}
}
