package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTutorialWithoutACluster types every line of docs/tutorials/no-cluster.md that begins with "$ ", and compares what it prints with the
// page.
func TestTutorialWithoutACluster(t *testing.T) {
	sendsNoFrames(t)
	typesPage(t, "docs/tutorials/no-cluster.md", 8)
}

// TestCommandOfTheGallery types the command of docs/methods/gallery.md.
func TestCommandOfTheGallery(t *testing.T) {
	sendsNoFrames(t)
	dir := typesPage(t, "docs/methods/gallery.md", 1)
	if page := read(t, filepath.Join(dir, "soak.html")); !strings.Contains(page, "<title>") {
		t.Error("soak.html is no page")
	}
}

// typesPage types the commands of a page in a folder that has the samples of the repository, and returns the folder.
func typesPage(t *testing.T, page string, atLeast int) string {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(filepath.Join(root, "config"), filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cache := "XDG_CACHE_HOME=" + t.TempDir()
	run := func(line string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "/usr/local/bin/nodrop", filepath.Join(bin, "nodrop")))
		// The cache of Go is a folder of the same variable.
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), cache)
		if strings.Contains(line, "go build") {
			cmd.Dir, cmd.Env = root, env
		}
		out, err := cmd.Output()
		return string(out), err
	}
	text, typed := read(t, filepath.Join(root, page)), 0
	if !strings.Contains(text, "go build") {
		if _, err := run("go build -tags standalone -o /usr/local/bin/nodrop ./cmd/nodrop"); err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range consoleBlock.FindAllStringSubmatch(text, -1) {
		for _, c := range commandsIn(block[1]) {
			typed++
			printed, err := run(c.line)
			if err != nil {
				t.Fatalf("$ %s\n%v", c.line, err)
			}
			if !matches(c.output, printed, strings.TrimSpace) {
				t.Errorf("$ %s\nprints\n%s\n%s has\n%s", c.line, printed, page, c.output)
			}
		}
	}
	if typed < atLeast {
		t.Errorf("%s has only %d commands", page, typed)
	}
	return dir
}
