//go:build !linux && !standalone

package main

import "github.com/spf13/cobra"

// podCommands returns commands that explain that they need Linux.
func podCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, name := range podCommandNames {
		all = append(all, newLinuxCommand(name))
	}
	return all
}
