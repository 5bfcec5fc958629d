package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is the maximum time for an API server to start, to accept definitions and to stop.
const patience = 2 * time.Minute

// Root is the directory of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// root is the directory of the module: a test's working directory is that of its package.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("finding the repository: no go.mod in or above %s", dir)
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
			const hint = "build them (make cluster-assets), or set KUBEBUILDER_ASSETS to a directory that has them"
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
	cfg, env, err := Launch(Assets(t), change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	return cfg, env
}

// Launch runs an API server until env.Stop; a package whose tests share one
// calls it. Assets is the directory with the binaries.
func Launch(assets string, change func(*envtest.Environment)) (*rest.Config, *envtest.Environment, error) {
	dir, err := root()
	if err != nil {
		return nil, nil, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(dir, "config", "crd")},
		ErrorIfCRDPathMissing: true,
		// The defaults of 20 and 10 s are too short where several start on a busy machine.
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	if change != nil {
		change(env)
	}
	if err := relaxGarbageCollection(); err != nil {
		return nil, nil, err
	}
	cfg, err := env.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the API server: %w", err)
	}
	// Tests poll often, and do not share the API server.
	cfg.QPS, cfg.Burst = 500, 500
	return cfg, env, nil
}

// relaxGarbageCollection sets GOGC for the programs that this process starts. With the
// default, an API server that stores little spends a fifth of its time on garbage.
func relaxGarbageCollection() error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	if err := os.Setenv("GOGC", "400"); err != nil {
		return fmt.Errorf("setting GOGC: %w", err)
	}
	return nil
}
