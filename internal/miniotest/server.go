package miniotest

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

	"nodrop.dev/nodrop/internal/testserver"
)

// Credentials of the server.
const (
	User     = "nodrop-test"
	Password = "a-secret-of-the-tests"
)

// Server is an S3 server with one bucket, which keeps all versions of its objects.
// Stop kills it, and Resume starts it with the objects that it had.
type Server struct {
	// Bucket is the name of the bucket.
	Bucket string
	// Address is HOST:PORT of the server.
	Address string

	t testing.TB
	testserver.Process
}

// Start runs a server until the test ends, and sets the environment to its
// credentials. It skips the test where the server was not built.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartAt(t, testserver.FreeAddress(t))
}

// StartAt is Start for a server at an address.
func StartAt(t testing.TB, address string) *Server {
	t.Helper()
	binary, dir := testserver.Binary(t, "minio", "S3 server", "hack/minio/build"), t.TempDir()
	s := &Server{Bucket: "results", t: t, Address: address}
	s.Process = testserver.Process{
		What: "S3 server",
		Command: []string{binary, "server", "--quiet", "--address", s.Address, "--console-address", "127.0.0.1:0",
			"--certs-dir", filepath.Join(dir, "certs"), filepath.Join(dir, "data")},
		Env: []string{"HOME=" + dir, "MINIO_ROOT_USER=" + User, "MINIO_ROOT_PASSWORD=" + Password,
			"MINIO_CI_CD=1", "MINIO_BROWSER=off", "MINIO_UPDATE=off"},
		Health: "http://" + s.Address + "/minio/health/cluster", Status: http.StatusOK,
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": User, "AWS_SECRET_ACCESS_KEY": Password,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	s.Start(t)
	s.makeBucket()
	return s
}

// URL is the archive under a prefix of the bucket.
func (s *Server) URL(prefix string) string { return s.URLThrough(s.Address, prefix) }

// URLThrough is the archive under a prefix of the bucket, seen through a proxy.
func (s *Server) URLThrough(address, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=http://%s", s.Bucket, prefix, address)
}

func (s *Server) client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + s.Address), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(User, Password, ""),
	})
}

func (s *Server) makeBucket() {
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
func (s *Server) Versions() map[string]int {
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
func (s *Server) Remove(key string) {
	s.t.Helper()
	if _, err := s.client().DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key}); err != nil {
		s.t.Fatalf("removing %s: %v", key, err)
	}
}
