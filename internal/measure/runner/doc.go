// Package runner executes a plan: it drives the methods over a Generator row by
// row, keeps a checkpoint after every row, and tells how far it is.
//
// In a cluster the runner is a pod without any right on the API server: it is
// given its Config in a file, drives the agents, and the operator asks it for
// its State.
package runner
