//go:build linux && !standalone

package main

import (
	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/inpod"
)

// podCommands returns the commands that NoDrop runs in pods.
func podCommands() []*cobra.Command {
	return []*cobra.Command{inpod.NewOperatorCommand(), inpod.NewLargeResultCommand(), inpod.NewRunnerCommand(), inpod.NewAgentCommand(), inpod.NewRecorderCommand(), inpod.NewDeviceCommand(), inpod.NewDoctorNodeCommand(), inpod.NewBedProbeCommand(), inpod.NewTRexCommand()}
}
