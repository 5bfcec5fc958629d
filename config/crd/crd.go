// Package crd holds the CustomResourceDefinitions of the API inside the binary,
// so that manifests are checked by the same schema without an API server.
package crd

import "embed"

//go:generate go tool controller-gen object crd paths=../../api/... output:crd:dir=.
//go:generate sh -c "cp nodrop.dev_*.yaml ../../charts/nodrop/files/crds/"

// Files holds one CustomResourceDefinition per file, as controller-gen wrote it.
//
//go:embed nodrop.dev_*.yaml
var Files embed.FS
