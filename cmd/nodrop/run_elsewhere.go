//go:build !linux

package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// newRunCommand returns the command that runs a benchmark in a cluster: the engines that run here need Linux.
func newRunCommand() *cobra.Command {
	var manifests manifestFlags
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "run -f FILE [NAME]",
		Short: "Run a benchmark in a cluster; without one it needs Linux",
		Long:  "Run a benchmark in a cluster. To run it without one, in one process, this command needs Linux." + clusterRunHelp,
		Args:  cobra.MaximumNArgs(1),
	}
	manifests.addFlags(cmd)
	out.AddFlags(cmd, report.Formats())
	here := newClusterRun(cmd, "filename", "recursive", "set", "output", "output-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		wanted, err := here.wanted()
		if err != nil {
			return err
		}
		if !wanted {
			return errLinux(cmd.CommandPath()+" without --wait", runtime.GOOS)
		}
		return here.run(cmd, &manifests, &out, nameIn(args))
	}
	return cmd
}

// newCleanCommand returns a command that explains that it needs Linux.
func newCleanCommand() *cobra.Command { return newLinuxCommand("clean") }
