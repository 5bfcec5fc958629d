// Package miniotest runs MinIO's server, a real S3 server, for tests. hack/minio/build
// builds it.
package miniotest
