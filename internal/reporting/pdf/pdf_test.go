package pdf

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/hint"
)

// Without a browser the message names the remedy.
func TestWithoutChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for value, want := range map[string]string{"": "PATH has none", "/nowhere/chromium": `NODROP_CHROMIUM is "/nowhere/chromium"`} {
		t.Setenv(Variable, value)
		_, err := Find()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "apt-get install chromium-headless-shell") {
			t.Errorf("%q: %v, hint %q; want %q and the remedy", value, err, hint.Of(err), want)
		}
	}
}

// A browser that fails is named, with its last words, and leaves no file behind.
func TestBrowserThatFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no screen >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, broken)
	b, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Print(context.Background(), []byte("<p>report</p>")); err == nil || !strings.Contains(err.Error(), "no screen") || !strings.Contains(err.Error(), broken) {
		t.Errorf("%v, want the browser and its words", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// The installed browser prints a page. make test-tools installs it.
func TestPrint(t *testing.T) {
	b, err := Find()
	if err != nil {
		t.Fatalf("%v: %s", err, hint.Of(err))
	}
	text, err := b.Print(context.Background(), []byte("<!doctype html><title>Report</title><p>64 B: 31.4 %</p>"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("%PDF-")) || !bytes.Contains(text, []byte("%%EOF")) {
		t.Errorf("%d bytes that are no PDF", len(text))
	}
}
