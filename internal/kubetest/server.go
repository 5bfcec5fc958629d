package kubetest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Root is the directory of the repository.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("finding the repository: the test was built without source paths")
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Assets returns the directory with etcd and kube-apiserver, or skips the test.
func Assets(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = filepath.Join(Root(t), ".cache", "k8s", "bin")
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			const hint = "build them (make kubernetes), or set KUBEBUILDER_ASSETS to a directory that has them"
			if os.Getenv("CI") == "true" {
				t.Fatalf("no API server for this test: %v: %s", err, hint)
			}
			t.Skipf("no API server for this test: %v: %s", err, hint)
		}
	}
	return dir
}

// Start runs an API server until the test ends. Change, which may be nil, adds
// to the environment before it starts.
func Start(t testing.TB, change func(*envtest.Environment)) (*rest.Config, *envtest.Environment) {
	t.Helper()
	root := Root(t)
	env := &envtest.Environment{
		BinaryAssetsDirectory: Assets(t),
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	// The kubelet's part is played by tests, and nobody removes finalizers of
	// namespaces or garbage: there are no other controllers.
	if change != nil {
		change(env)
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	// Tests look closely and often; the API server is theirs alone.
	cfg.QPS, cfg.Burst = 500, 500
	return cfg, env
}
