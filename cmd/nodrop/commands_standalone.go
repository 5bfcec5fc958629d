//go:build standalone

package main

import "github.com/spf13/cobra"

// addClusterCommands adds nothing: a binary built with the tag standalone can
// only run benchmarks by itself. It is built in less than half the time, since the
// libraries that talk to a cluster are most of the whole.
func addClusterCommands(*cobra.Command) {}
