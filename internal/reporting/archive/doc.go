// Package archive keeps results of finished benchmarks outside of etcd: in a
// directory, or in a bucket of S3 or of a server that is compatible with it.
//
// Each result is one document, the JSON of package report, compressed with zstd,
// under the key NAMESPACE/NAMESPACE-UID/NAME/UID.json.zst. The file UID.json.zst.sha256 next to it
// has its SHA-256 in the format of sha256sum, and UID.json.zst.figures its figures (package
// figures). A document is written once and never changed. Readers give the UID of a namespace: one that
// is created again does not have the results of its predecessor.
package archive
