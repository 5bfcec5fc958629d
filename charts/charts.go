// Package charts holds the CustomResourceDefinitions of the API, which are files of the chart,
// inside the binary, so that manifests are checked by the same schema without an API server.
package charts

import "embed"

//go:generate go tool controller-gen object crd paths=../api/... output:crd:dir=nodrop/files/crds

// Definitions is the folder of the definitions in Files.
const Definitions = "nodrop/files/crds"

// Files holds one CustomResourceDefinition per file, as controller-gen wrote it.
//
//go:embed nodrop/files/crds/nodrop.dev_*.yaml
var Files embed.FS
