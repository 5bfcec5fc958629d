package miniotest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"nodrop.dev/nodrop/internal/kubetest"
)

// Credentials of the server.
const (
	User     = "nodrop-test"
	Password = "a-secret-of-the-tests"
)

// Server is an S3 server with one bucket, which keeps all versions of its objects.
type Server struct {
	// Bucket is the name of the bucket.
	Bucket string
	// Address is HOST:PORT of the server.
	Address string

	t      testing.TB
	binary string
	dir    string
	cmd    *exec.Cmd
	output bytes.Buffer
}

// patience bounds the wait for the server's start.
const patience = 60 * time.Second

// Start runs a server until the test ends, and sets the environment to its
// credentials. It skips the test where the server was not built.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{Bucket: "results", t: t, binary: binary(t), dir: t.TempDir(), Address: freeAddress(t)}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": User, "AWS_SECRET_ACCESS_KEY": Password,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	s.Resume()
	t.Cleanup(s.Stop)
	s.makeBucket()
	return s
}

func binary(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("NODROP_CACHE")
	if cache == "" {
		cache = filepath.Join(kubetest.Root(t), ".cache")
	}
	file := filepath.Join(cache, "tools", "minio")
	if _, err := os.Stat(file); err != nil {
		const hint = "build it (NODROP_CACHE=.cache hack/minio/build)"
		if os.Getenv("CI") == "true" {
			t.Fatalf("no S3 server for this test: %v: %s", err, hint)
		}
		t.Skipf("no S3 server for this test: %v: %s", err, hint)
	}
	return file
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Resume starts the server, with the objects that it had when it was stopped.
func (s *Server) Resume() {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, "server", "--quiet", "--address", s.Address, "--console-address", "127.0.0.1:0",
		"--certs-dir", filepath.Join(s.dir, "certs"), filepath.Join(s.dir, "data"))
	s.cmd.Env = append(os.Environ(), "HOME="+s.dir, "MINIO_ROOT_USER="+User, "MINIO_ROOT_PASSWORD="+Password,
		"MINIO_CI_CD=1", "MINIO_BROWSER=off", "MINIO_UPDATE=off")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	// A test that is killed leaves no server.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("starting the S3 server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !s.isReady(ctx) {
		select {
		case <-ctx.Done():
			s.Stop()
			s.t.Fatalf("the S3 server did not become ready:\n%s", &s.output)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *Server) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/minio/health/cluster", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Stop kills the server, as when its machine fails. Its objects are kept.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // It reports the signal.
	s.cmd = nil
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
