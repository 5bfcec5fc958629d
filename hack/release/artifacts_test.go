//go:build release

package main

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// targets are the systems that archives are made for.
var targets = []string{"nodrop_%_linux_amd64.tar.gz", "nodrop_%_linux_arm64.tar.gz", "nodrop_%_darwin_amd64.tar.gz", "nodrop_%_darwin_arm64.tar.gz", "nodrop_%_windows_amd64.zip", "nodrop_%_windows_arm64.zip", "nodrop-standalone_%_linux_amd64.tar.gz", "nodrop-standalone_%_linux_arm64.tar.gz"}

// dist returns the folder with the artifacts, and their version.
func dist(t *testing.T) (folder, version string) {
	t.Helper()
	folder = os.Getenv("NODROP_RELEASE_DIST")
	return folder, versionIn(t, folder)
}

// versionIn returns the version of the artifacts in a folder, from the name of the chart.
func versionIn(t *testing.T, folder string) string {
	t.Helper()
	charts, err := filepath.Glob(filepath.Join(folder, "nodrop-[0-9]*.tgz"))
	must(t, err)
	if folder == "" || len(charts) != 1 {
		t.Fatalf("the folder %q has %d charts: run make release, then make test-release", folder, len(charts))
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "nodrop-"), ".tgz")
}

// unpacked returns a clean folder with the content of an archive.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	to := t.TempDir()
	if strings.HasSuffix(archive, ".zip") {
		shell(t, to, "python3", "-m", "zipfile", "-e", archive, to)
	} else {
		shell(t, to, "tar", "-xzf", archive, "-C", to)
	}
	return to
}

// shell runs a program in a folder and returns what it prints.
func shell(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, said)
	}
	return string(said)
}

func TestArtifactChecksums(t *testing.T) {
	folder, version := dist(t)
	shell(t, folder, "sha256sum", "--quiet", "-c", "checksums.txt")
	listed := text(t, filepath.Join(folder, "checksums.txt"))
	entries, err := os.ReadDir(folder)
	must(t, err)
	kind := regexp.MustCompile(`\.(tar\.gz|tgz|zip|deb|rpm|tar|spdx\.json)$`)
	for _, e := range entries {
		if kind.MatchString(e.Name()) && !strings.Contains(listed, "  "+e.Name()+"\n") {
			t.Errorf("%s has no checksum", e.Name())
		}
	}
	for _, name := range targets {
		if name = strings.Replace(name, "%", version, 1); !strings.Contains(listed, "  "+name+"\n") {
			t.Errorf("the archive %s is missing", name)
		}
	}
	if statement := text(t, filepath.Join(folder, "provenance.intoto.json")); !strings.Contains(statement, "payload") {
		for line := range strings.Lines(listed) {
			digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if !strings.Contains(statement, `{"name":"`+name+`","digest":{"sha256":"`+digest+`"}}`) {
				t.Errorf("the provenance does not have %s", name)
			}
		}
	}
}

// Each archive has licenses and an SBOM of all that "go version -m" prints, manual pages and completions.
func TestArtifactArchives(t *testing.T) {
	folder, version := dist(t)
	for _, name := range targets {
		name = strings.Replace(name, "%", version, 1)
		t.Run(name, func(t *testing.T) {
			to := unpacked(t, filepath.Join(folder, name))
			program := filepath.Join(to, "nodrop")
			if strings.Contains(name, "windows") {
				program += ".exe"
			}
			base, _, _ := strings.Cut(strings.TrimSuffix(name, ".zip"), ".tar.gz")
			sbom := filepath.Join(folder, base+".spdx.json")
			must(t, command(verifyCommand, "-licenses", filepath.Join(to, "licenses"), "-sbom", sbom, program))
			packages := text(t, sbom)
			deps := 0
			for line := range strings.Lines(shell(t, to, "go", "version", "-m", program)) {
				if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
					deps++
					if !strings.Contains(packages, `"pkg:golang/`+f[1]+"@"+f[2]+`"`) {
						t.Errorf("the SBOM does not have %s %s", f[1], f[2])
					}
				}
			}
			if deps < 50 {
				t.Errorf("go version -m prints %d modules", deps)
			}
			for glob, least := range map[string]int{"man/*.1": 10, "completions/nodrop.*": 4, "samples/sim/*.yaml": 3, "LICENSE": 1} {
				if found, _ := filepath.Glob(filepath.Join(to, glob)); len(found) < least {
					t.Errorf("%d files %s, want at least %d", len(found), glob, least)
				}
			}
			if strings.Contains(name, "linux") {
				isStatic(t, program)
			}
		})
	}
}

func isStatic(t *testing.T, program string) {
	t.Helper()
	file, err := elf.Open(program)
	must(t, err)
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s is linked dynamically", program)
	}
}

// An archive alone makes a first report within a minute.
func TestArtifactFirstReport(t *testing.T) {
	folder, version := dist(t)
	for _, name := range []string{"nodrop", "nodrop-standalone"} {
		to := unpacked(t, filepath.Join(folder, name+"_"+version+"_linux_amd64.tar.gz"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "./nodrop", "run", "-f", "samples/sim", "-o", "html", "--output-file", "report.html")
		cmd.Dir, cmd.Env = to, []string{"PATH=/nonexistent", "HOME=" + to}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: no report within a minute: %v\n%s", name, err, said)
		}
		if report := text(t, filepath.Join(to, "report.html")); !strings.Contains(report, "Throughput") || !strings.Contains(report, "v"+version) {
			t.Errorf("%s: the report has no throughput, or not the version v%s", name, version)
		}
		if said := shell(t, to, "./nodrop", "version"); !strings.Contains(said, "v"+version+"\n") || !strings.Contains(version, "-dev.") && strings.Contains(said, "unknown") {
			t.Errorf("%s: got %s", name, said)
		}
	}
}

// The Debian package leaves nothing behind.
func TestArtifactDebianPackage(t *testing.T) {
	folder, _ := dist(t)
	debs, err := filepath.Glob(filepath.Join(folder, "nodrop_*_amd64.deb"))
	must(t, err)
	if len(debs) != 1 {
		t.Fatalf("got %q, want one package", debs)
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600))
	dpkg := func(args ...string) string {
		return shell(t, root, "dpkg", append([]string{"--root=" + root, "--log=" + filepath.Join(t.TempDir(), "log"), "--force-not-root", "--force-script-chrootless"}, args...)...)
	}
	before := filesIn(t, root)
	dpkg("-i", debs[0])
	for _, name := range []string{"usr/bin/nodrop", "usr/share/man/man1/nodrop-run.1", "usr/share/bash-completion/completions/nodrop", "usr/share/doc/nodrop/copyright", "usr/share/doc/nodrop/licenses/index.csv"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("not installed: %v", err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root, "usr/bin/kubectl-nodrop")); err != nil || to != "/usr/bin/nodrop" {
		t.Errorf("kubectl-nodrop leads to %q: %v", to, err)
	}
	must(t, command(verifyCommand, "-licenses", filepath.Join(root, "usr/share/doc/nodrop/licenses"), "-sbom", strings.Replace(archiveOf(t, "linux_amd64"), ".tar.gz", ".spdx.json", 1), filepath.Join(root, "usr/bin/nodrop")))
	dpkg("--purge", "nodrop")
	if after := filesIn(t, root); !slices.Equal(before, after) {
		t.Errorf("left behind: %q, before: %q", after, before)
	}
}

// archiveOf returns the archive with all commands for a system.
func archiveOf(t *testing.T, system string) string {
	t.Helper()
	folder, version := dist(t)
	return filepath.Join(folder, "nodrop_"+version+"_"+system+".tar.gz")
}

// filesIn returns all files and folders but the database of dpkg.
func filesIn(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	for line := range bytes.Lines([]byte(shell(t, root, "find", ".", "-path", "./var/lib/dpkg", "-prune", "-o", "-print"))) {
		lines = append(lines, strings.TrimSpace(string(line)))
	}
	slices.Sort(lines)
	return lines
}
