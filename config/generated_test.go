package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedFilesAreUpToDate writes everything that follows from the source
// once more, elsewhere, and compares it with what is in the repository.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"crd", "paths=../api/...", "output:crd:dir=" + filepath.Join(dir, "crd")},
		{"object", "paths=../api/...", "output:object:dir=" + filepath.Join(dir, "object")},
		{"rbac:roleName=nodrop-operator", "paths=../controllers", "output:rbac:dir=" + filepath.Join(dir, "rbac")},
	} {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "controller-gen"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	pairs := map[string]string{
		filepath.Join("..", "api", "v1alpha1", "zz_generated.deepcopy.go"):    filepath.Join(dir, "object", "zz_generated.deepcopy.go"),
		filepath.Join("rbac", "role.yaml"):                                    filepath.Join(dir, "rbac", "role.yaml"),
		filepath.Join("..", "charts", "nodrop", "files", "rbac", "role.yaml"): filepath.Join(dir, "rbac", "role.yaml"),
	}
	definitions, err := filepath.Glob(filepath.Join(dir, "crd", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	chart := filepath.Join("..", "charts", "nodrop", "files", "crds")
	kept, err := filepath.Glob(filepath.Join(chart, "nodrop.dev_*.yaml"))
	if err != nil || len(kept) == 0 || len(definitions) != len(kept) {
		t.Fatalf("%d definitions were written, %d are kept (%v)", len(definitions), len(kept), err)
	}
	for _, d := range definitions {
		pairs[filepath.Join(chart, filepath.Base(d))] = d
	}
	for kept, written := range pairs {
		if diff := cmp.Diff(read(t, written), read(t, kept)); diff != "" {
			t.Errorf("%s is outdated: run make generate (-new +kept):\n%s", kept, diff)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
