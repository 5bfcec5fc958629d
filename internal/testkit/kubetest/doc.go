// Package kubetest reads the manifests of this repository for tests, with the messages that
// broken ones expect. Package testserver starts the API server that accepts or refuses them.
package kubetest
