package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
)

// podCommandNames are the names of the commands that NoDrop runs in pods. They need Linux.
var podCommandNames = []string{"operator", "large-result", "runner", "agent", "recorder", "device", "doctor-node", "bed-probe", "trex"}

// newLinuxCommand returns a hidden command that takes the place of one that needs Linux, and explains that.
func newLinuxCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Needs Linux",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, _ []string) error { return errLinux(cmd.CommandPath(), runtime.GOOS) },
	}
}

// errLinux is the error of a command that needs Linux on another system.
func errLinux(command, system string) error {
	return hint.With(fmt.Errorf("%s needs Linux, and this is %s", command, system), "run it on a Linux machine, or in a container or virtual machine with Linux")
}
