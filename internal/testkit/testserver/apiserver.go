package testserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// apiServerPatience is the maximum time for an API server to start, to accept definitions and
// to stop.
const apiServerPatience = 2 * time.Minute

// apiServerPrograms returns the directory with etcd and kube-apiserver, or skips the test.
func apiServerPrograms(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = filepath.Join(kubetest.Root(t), ".cache", "k8s", "bin")
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

// StartAPIServer runs an API server until the test ends. Change, which may be nil, adds
// to the environment before it starts.
func StartAPIServer(t testing.TB, change func(*envtest.Environment)) (*rest.Config, *envtest.Environment) {
	t.Helper()
	cfg, env := LaunchAPIServer(t, change)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	return cfg, env
}

// LaunchAPIServer runs an API server until Stop of the environment, for packages whose tests
// share one.
func LaunchAPIServer(t testing.TB, change func(*envtest.Environment)) (*rest.Config, *envtest.Environment) {
	t.Helper()
	env := &envtest.Environment{
		BinaryAssetsDirectory: apiServerPrograms(t),
		CRDDirectoryPaths:     []string{filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "crds")},
		ErrorIfCRDPathMissing: true,
		// The defaults of 20 and 10 s are too short where several start on a busy machine.
		ControlPlaneStartTimeout: apiServerPatience, ControlPlaneStopTimeout: apiServerPatience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: apiServerPatience},
	}
	if change != nil {
		change(env)
	}
	relaxGarbageCollection(t)
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	// Tests poll often, and do not share the API server.
	cfg.QPS, cfg.Burst = 500, 500
	return cfg, env
}

// relaxGarbageCollection sets GOGC for the programs that this process starts. With the
// default, an API server that stores little spends a fifth of its time on garbage.
func relaxGarbageCollection(t testing.TB) {
	t.Helper()
	if os.Getenv("GOGC") != "" {
		return
	}
	if err := os.Setenv("GOGC", "400"); err != nil {
		t.Fatalf("setting GOGC: %v", err)
	}
}
