//go:build !standalone

package main

import "github.com/spf13/cobra"

// podsGroup is a group of commands in the help.
const podsGroup = "pods"

// addClusterCommands adds what needs a cluster, or runs in one, and what is built of as
// many libraries.
func addClusterCommands(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: podsGroup, Title: "Commands that NoDrop runs in pods:"})
	add(root, forPeople, newWatchCommand(), newQueueCommand(), newPageCommand(), newTriggerCommand(), newReserveCommand(), newReleaseCommand(), newExtendCommand(), newCordonCommand(), newUncordonCommand(), newDoctorCommand(), newUninstallCommand())
	add(root, podsGroup, podCommands()...)
}
