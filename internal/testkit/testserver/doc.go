// Package testserver runs real servers for tests: a Kubernetes API server with etcd and the
// definitions of this repository, Kueue next to it, MinIO as S3 server, InfluxDB and Grafana.
//
// The scripts in hack build the programs. The API server's are in the directory that
// KUBEBUILDER_ASSETS names, or in .cache/k8s/bin of the repository, where "make" puts them.
// Without its program a test is skipped and says so; where CI is "true" it fails instead.
package testserver
