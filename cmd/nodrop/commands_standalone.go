//go:build standalone

package main

import "github.com/spf13/cobra"

// addClusterCommands adds nothing: a binary built with the tag standalone runs
// benchmarks by itself, and reports and compares files. It is built in less than half
// the time, since the libraries that talk to a cluster, or are a route server, are most of the whole.
func addClusterCommands(*cobra.Command) {}
