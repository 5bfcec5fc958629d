package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestArchiveHoldsTheFiles(t *testing.T) {
	image := write(t, t.TempDir())
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/bin/tool" {
		t.Errorf("user %q, entrypoint %q", config.Config.User, config.Config.Entrypoint)
	}
	got := list(t, image)
	want := map[string]int64{
		"bin/": 0o755, "bin/tool": 0o755, "etc/": 0o755, "etc/sub/": 0o700, "etc/sub/file": 0o640, "etc/link": 0o777,
	}
	for name, mode := range want {
		if header, ok := got[name]; !ok || header.Mode&0o777 != mode {
			t.Errorf("%s: got %+v, want mode %o", name, header, mode)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d: %v", len(got), len(want), got)
	}
	if link := got["etc/link"]; link == nil || link.Linkname != "sub/file" {
		t.Errorf("etc/link points to %+v", link)
	}
}

func TestSameFilesSameImage(t *testing.T) {
	first, err := write(t, t.TempDir()).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := write(t, t.TempDir()).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("digests %s and %s differ", first, second)
	}
}

func TestRefusedArguments(t *testing.T) {
	for name, s := range map[string]settings{
		"no name":         {output: "x", content: []string{"/etc/passwd=/passwd"}},
		"no content":      {output: "x", name: "localhost/a:1"},
		"no tag":          {output: "x", name: "localhost/a", content: []string{"/etc/passwd=/passwd"}},
		"relative target": {output: "x", name: "localhost/a:1", content: []string{"/etc/passwd=passwd"}},
		"missing file":    {output: "x", name: "localhost/a:1", content: []string{"/nowhere=/passwd"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := s.write(); err == nil {
				t.Error("accepted")
			}
			if _, err := os.Stat("x"); !errors.Is(err, os.ErrNotExist) {
				t.Error("left an archive behind")
			}
		})
	}
}

// write makes an archive of a small tree in folder and reads it back.
func write(t *testing.T, folder string) v1.Image {
	t.Helper()
	tree := filepath.Join(folder, "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "sub"), 0o755))
	must(t, os.Chmod(filepath.Join(tree, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(tree, "sub", "file"), []byte("content"), 0o600))
	must(t, os.Chmod(filepath.Join(tree, "sub", "file"), 0o640))
	must(t, os.Symlink("sub/file", filepath.Join(tree, "link")))
	tool := filepath.Join(folder, "tool")
	must(t, os.WriteFile(tool, []byte("tool"), 0o600))
	must(t, os.Chmod(tool, 0o755))

	output := filepath.Join(folder, "out.tar")
	s := settings{
		name: "localhost/test:1", output: output, user: "65532:65532", entrypoint: "/bin/tool",
		content: []string{tool + "=/bin/tool", tree + "=/etc"},
	}
	must(t, s.write())
	image, err := tarball.ImageFromPath(output, nil)
	must(t, err)
	return image
}

func list(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	layers, err := image.Layers()
	must(t, err)
	content, err := layers[0].Uncompressed()
	must(t, err)
	defer content.Close()
	headers := map[string]*tar.Header{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		must(t, err)
		headers[header.Name] = header
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
