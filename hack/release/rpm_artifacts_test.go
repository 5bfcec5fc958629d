//go:build release

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rpm "github.com/sassoftware/go-rpmutils"
)

// The packages for RPM have the program of the archives, and its version.
func TestArtifactRPM(t *testing.T) {
	folder, version := dist(t)
	for arch, system := range map[string]string{"x86_64": "linux_amd64", "aarch64": "linux_arm64"} {
		t.Run(arch, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(folder, "nodrop-*."+arch+".rpm"))
			must(t, err)
			if len(found) != 1 {
				t.Fatalf("got %q, want one package for %s", found, arch)
			}
			file, err := os.Open(found[0])
			must(t, err)
			defer file.Close()
			pkg, err := rpm.ReadRpm(file)
			must(t, err)
			name, err := pkg.Header.GetNEVRA()
			must(t, err)
			if name.Name != "nodrop" || name.Arch != arch || name.Version != strings.Replace(version, "-", "~", 1) {
				t.Errorf("got %+v", name)
			}
			to := t.TempDir()
			must(t, pkg.ExpandPayload(to))
			if text(t, filepath.Join(to, "usr/bin/nodrop")) != text(t, filepath.Join(unpacked(t, archiveOf(t, system)), "nodrop")) {
				t.Errorf("%s: the package has another program than the archive", arch)
			}
			for _, file := range []string{"usr/share/man/man1/nodrop-run.1", "usr/share/doc/nodrop/licenses/index.csv", "usr/share/bash-completion/completions/nodrop"} {
				if _, err := os.Stat(filepath.Join(to, file)); err != nil {
					t.Errorf("%s: %v", arch, err)
				}
			}
		})
	}
}
