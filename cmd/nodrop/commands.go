//go:build !standalone

package main

import (
	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/inpod"
)

// addClusterCommands adds what needs a cluster, or runs in one, and what is built of as
// many libraries.
func addClusterCommands(root *cobra.Command) {
	const inPods = "pods"
	root.AddGroup(&cobra.Group{ID: inPods, Title: "Commands that NoDrop runs in pods:"})
	add(root, forPeople, newWatchCommand(), newQueueCommand(), newPageCommand(), newTriggerCommand(), newReserveCommand(), newReleaseCommand(), newExtendCommand(), newCordonCommand(), newUncordonCommand(), newDoctorCommand(), newUninstallCommand())
	add(root, inPods, inpod.NewOperatorCommand(), inpod.NewLargeResultCommand(), inpod.NewRunnerCommand(), inpod.NewAgentCommand(), inpod.NewRecorderCommand(), inpod.NewDeviceCommand(), inpod.NewDoctorNodeCommand(), inpod.NewBedProbeCommand(), inpod.NewTRexCommand())
}
