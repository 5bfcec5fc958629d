// Package kubetest reads the manifests of this repository for tests, with the messages that
// broken ones expect, and gives accounts of tests their rights. Package testserver starts the
// API server that accepts or refuses them.
package kubetest
