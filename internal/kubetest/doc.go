// Package kubetest starts a real API server with etcd for tests, with the
// CustomResourceDefinitions of this repository.
//
// The binaries are in the directory that KUBEBUILDER_ASSETS names,
// or in .cache/k8s/bin of the repository, where "make" puts them. Without them
// a test is skipped and says so; where CI is "true" it fails instead.
package kubetest
