package kubetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the directory of the repository.
func Root(t testing.TB) string {
	t.Helper()
	// Tests run in the directory of their package.
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("finding the repository: %v", err)
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
	}
	t.Fatalf("finding the repository: no go.mod in or above %s", dir)
	return ""
}
