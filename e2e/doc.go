// Package e2e tests the whole path on a real cluster: the chart is installed,
// manifests are applied with kubectl, a real router forwards real frames.
//
// The tests are behind the build tag e2e and run inside the node of the local
// cluster: "make e2e" brings it up, runs them and takes it down.
package e2e
