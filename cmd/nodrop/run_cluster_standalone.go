//go:build standalone

package main

import (
	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
)

const clusterRunHelp, clusterRunExample = "", ""

// clusterRun is nothing in a binary that talks to no cluster.
type clusterRun struct{}

func newClusterRun(*cobra.Command, ...string) *clusterRun { return &clusterRun{} }

func (*clusterRun) wanted() (bool, error) { return false, nil }

func (*clusterRun) run(*cobra.Command, *manifestFlags, *terminal.Output, string) error { return nil }
