package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// The binary that is built with the tag standalone exists to be there soon after
// a clone: it must run benchmarks, and must not grow the libraries of a cluster.
func TestStandaloneBinary(t *testing.T) {
	sendsNoFrames(t)
	list, err := exec.Command("go", "list", "-deps", "-tags", "standalone", ".").Output()
	if err != nil {
		t.Fatalf("listing the packages: %v", err)
	}
	for pkg := range strings.Lines(string(list)) {
		for _, heavy := range []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "google.golang.org/grpc/", "gocloud.dev/", "github.com/aws/"} {
			if strings.HasPrefix(pkg, heavy) {
				t.Errorf("it contains %s", strings.TrimSpace(pkg))
			}
		}
	}

	binary := filepath.Join(t.TempDir(), "nodrop")
	if text, err := exec.Command("go", "build", "-ldflags=-w", "-tags", "standalone", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	run := func(args ...string) *process {
		p := &process{t: t, cmd: exec.Command(binary, args...)}
		p.cmd.Env = os.Environ()
		p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
		p.begin()
		return p
	}
	file := filepath.Join(t.TempDir(), "result.json")
	run("run", "-f", manifests(t, simBenchmark, simManifests), "-o", "json", "--output-file", file).wants(exit.Passed, "", "")
	run("report", file).wants(exit.Passed, "13.592    69.6875", "")
	run("compare", "one="+file, "two="+file).wants(exit.Passed, "two", "")
	run("report", "router-rfc2544").wants(exit.Use, "", "built with the tag standalone")
}
