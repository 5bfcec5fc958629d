//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// trexDirEnv names the directory of a real TRex server.
	trexDirEnv = "NODROP_TREX_DIR"
	// trexImage is the image that these tests make of it.
	trexImage = "localhost/nodrop-trex:e2e"
	// trexProgram is the server in its directory.
	trexProgram = "_t-rex-64"
)

// loadTRex makes an image of a real TRex server as Dockerfile.trex does, with the
// libraries of this machine, and gives it to the node until the test ends.
func loadTRex(t *testing.T) {
	t.Helper()
	dir := os.Getenv(trexDirEnv)
	if dir == "" {
		t.Skipf("%s is not set: it names the directory of a real TRex server", trexDirEnv)
	}
	archive := filepath.Join(t.TempDir(), "trex.tar")
	args := []string{"-name", trexImage, "-o", archive}
	for _, name := range []string{trexProgram, "so"} {
		args = append(args, filepath.Join(dir, name)+"=/opt/trex/"+name)
	}
	for _, library := range librariesOf(t, dir) {
		file, err := filepath.EvalSymlinks(library)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, file+"="+library)
	}
	runOnNode(t, "image", args...)
	runOnNode(t, "ctr", "--namespace", "k8s.io", "images", "import", archive)
	t.Cleanup(func() { runOnNode(t, "ctr", "--namespace", "k8s.io", "images", "rm", trexImage) })
}

// librariesOf are the libraries of the system that the server in a directory loads.
func librariesOf(t *testing.T, dir string) []string {
	t.Helper()
	ldd := exec.Command("ldd", filepath.Join(dir, trexProgram))
	ldd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join([]string{dir, filepath.Join(dir, "so"), filepath.Join(dir, "so", "x86_64")}, ":"))
	out, err := ldd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "not found") {
		t.Fatalf("looking for the libraries of %s: %v\n%s", dir, err, out)
	}
	var libraries []string
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) && !strings.HasPrefix(word, dir+"/") {
			libraries = append(libraries, word)
		}
	}
	if len(libraries) == 0 {
		t.Fatalf("%s loads no library of the system:\n%s", dir, out)
	}
	return libraries
}

// runOnNode runs a program of the node, also after the test's own context has ended.
func runOnNode(t *testing.T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}
