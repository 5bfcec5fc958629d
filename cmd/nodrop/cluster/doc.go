// Package cluster connects the commands for people to a Kubernetes cluster, and follows benchmarks
// there.
package cluster
