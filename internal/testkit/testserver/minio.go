package testserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Credentials of MinIO.
const (
	MinIOUser     = "nodrop-test"
	MinIOPassword = "a-secret-of-the-tests"
)

// MinIO is an S3 server with one bucket, which keeps all versions of its objects.
// Stop kills it, and Resume starts it with the objects that it had.
type MinIO struct {
	// Bucket is the name of the bucket.
	Bucket string
	// Address is HOST:PORT of the server.
	Address string

	t testing.TB
	Process
}

// StartMinIO runs MinIO, a real S3 server, until the test ends, and sets the environment to its
// credentials. It skips the test where the server was not built.
func StartMinIO(t testing.TB) *MinIO {
	t.Helper()
	return StartMinIOAt(t, FreeAddress(t))
}

// StartMinIOAt is StartMinIO for a server at an address.
func StartMinIOAt(t testing.TB, address string) *MinIO {
	t.Helper()
	binary, dir := Binary(t, "minio", "S3 server", "hack/minio/build"), t.TempDir()
	s := &MinIO{Bucket: "results", t: t, Address: address}
	s.Process = Process{
		What: "S3 server",
		Command: []string{binary, "server", "--quiet", "--address", s.Address, "--console-address", "127.0.0.1:0",
			"--certs-dir", filepath.Join(dir, "certs"), filepath.Join(dir, "data")},
		Env: []string{"HOME=" + dir, "MINIO_ROOT_USER=" + MinIOUser, "MINIO_ROOT_PASSWORD=" + MinIOPassword,
			"MINIO_CI_CD=1", "MINIO_BROWSER=off", "MINIO_UPDATE=off"},
		Health: "http://" + s.Address + "/minio/health/cluster", Status: http.StatusOK,
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": MinIOUser, "AWS_SECRET_ACCESS_KEY": MinIOPassword,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	s.Start(t)
	s.makeBucket()
	return s
}

// URL is the archive under a prefix of the bucket.
func (s *MinIO) URL(prefix string) string { return s.URLThrough(s.Address, prefix) }

// URLThrough is the archive under a prefix of the bucket, seen through a proxy.
func (s *MinIO) URLThrough(address, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=http://%s", s.Bucket, prefix, address)
}

func (s *MinIO) client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + s.Address), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(MinIOUser, MinIOPassword, ""),
	})
}

func (s *MinIO) makeBucket() {
	s.t.Helper()
	ctx := context.Background()
	if _, err := s.client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		s.t.Fatalf("making the bucket: %v", err)
	}
	_, err := s.client().PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &s.Bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		s.t.Fatalf("keeping versions in the bucket: %v", err)
	}
}

// Versions returns how many versions each object of the bucket has, by its key.
func (s *MinIO) Versions() map[string]int {
	s.t.Helper()
	versions := map[string]int{}
	pages := s3.NewListObjectVersionsPaginator(s.client(), &s3.ListObjectVersionsInput{Bucket: &s.Bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			s.t.Fatalf("listing the objects: %v", err)
		}
		for _, v := range page.Versions {
			versions[*v.Key]++
		}
	}
	return versions
}

// Remove removes an object with all its versions.
func (s *MinIO) Remove(key string) {
	s.t.Helper()
	if _, err := s.client().DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key}); err != nil {
		s.t.Fatalf("removing %s: %v", key, err)
	}
}
