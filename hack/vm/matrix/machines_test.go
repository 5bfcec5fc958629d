package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMachines runs hack/vm/machines with a kernel that is in the cache already.
func TestMachines(t *testing.T) {
	cache, dir := t.TempDir(), filepath.Join(t.TempDir(), "machines")
	write := func(release string) {
		t.Helper()
		for _, file := range []string{"vmlinuz", "image.gz", "release", "modules/" + release + "/modules.dep"} {
			path := filepath.Join(cache, "vm", "debian12", file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(release+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill := func(args ...string) (string, error) {
		cmd := exec.Command("../machines", args...)
		cmd.Env = append(os.Environ(), "NODROP_CACHE="+cache)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// The last one is the kernel before, which is replaced as a whole.
	for _, release := range []string{"6.1.0-1", "6.1.0-1", "6.1.0-2"} {
		write(release)
		if out, err := fill(dir, "debian12"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, file := range []string{"vmlinuz", "image.gz", "release", "modules/" + release + "/modules.dep"} {
			if text, err := os.ReadFile(filepath.Join(dir, "debian12", file)); err != nil || string(text) != release+"\n" {
				t.Errorf("%s of %s is %q: %v", file, release, text, err)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v: %v", entries, err)
	}
	for want, args := range map[string][]string{
		"error: usage: machines DIR [KERNEL...]: debian12 debian13 backports":        {},
		`error: kernel "plan9" is not known: use one of debian12 debian13 backports`: {dir, "plan9"},
	} {
		if out, err := fill(args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v: %s, want %q", args, err, out, want)
		}
	}
}
