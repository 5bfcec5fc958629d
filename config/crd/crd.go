// Package crd holds the CustomResourceDefinitions of the API inside the binary,
// so that manifests are checked by the same schema without an API server.
package crd

import "embed"

// Files holds one CustomResourceDefinition per file, as controller-gen wrote it.
//
//go:embed *.yaml
var Files embed.FS
