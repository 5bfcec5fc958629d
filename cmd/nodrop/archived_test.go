//go:build !standalone

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// archived writes a file with a result to an archive under a UID, and returns the URL
// of the document.
func archived(t *testing.T, where, file, uid string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	document.Benchmark.UID, document.Benchmark.NamespaceUID = uid, "6b1e3a52-4f0c-4d3b-9a53-0d7c8c1f2e10"
	store, err := archive.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := store.Put(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return reference.URL
}

// Results in an archive are reported and compared like those of files, without a
// cluster.
func TestArchivedResults(t *testing.T) {
	leaveToLogic(t)
	off, on := results(t)
	for name, where := range map[string]func(*testing.T) string{
		"directory": func(t *testing.T) string { return "file://" + t.TempDir() },
		"S3": func(t *testing.T) string {
			server := testserver.StartMinIO(t)
			t.Setenv(archive.EndpointsVariable, server.Address)
			return server.URL("lab")
		},
	} {
		t.Run(name, func(t *testing.T) {
			place := where(t)
			first, second := archived(t, place, off, "1"), archived(t, place, on, "2")
			plain := start(t, "report", off)
			plain.wants(exit.Passed, "13.592    69.6875  1.510  2.377   4.240", "")
			start(t, "report", first).wants(exit.Passed, plain.stdout.String(), "")
			start(t, "compare", first, second).wants(exit.Passed, "Comparison of fec-off and fec-on", "")
			start(t, "compare", "before="+first, on).wants(exit.Passed, "Comparison of before and fec-on", "")
			missing := strings.Replace(first, "/1.json.zst", "/3.json.zst", 1)
			start(t, "report", missing).wants(exit.Use, "", "hint: status.results.archive.url of a benchmark has the URL of its document")
			if name == "S3" {
				t.Setenv(archive.EndpointsVariable, "")
				start(t, "compare", on, first).wants(exit.Use, "", "hint: if you trust this server: export NODROP_ARCHIVE_ENDPOINTS=127.0.0.1:")
			}
		})
	}
}

// A file may be compressed, and one that is not a result says so.
func TestReportOfACompressedFile(t *testing.T) {
	sendsNoFrames(t)
	off, _ := results(t)
	dir := t.TempDir()
	document := strings.TrimPrefix(archived(t, "file://"+dir, off, "1"), "file://")
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json.zst")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "report", file).wants(exit.Passed, "13.592    69.6875", "")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "report", file).wants(exit.Use, "", "hint: kubectl nodrop report and nodrop run write a result with -o json")
	start(t, "report", "none.zst").wants(exit.Use, "", "hint: an argument with a folder")
	start(t, "report", "ftp://host/result.json").wants(exit.Use, "", `the scheme "ftp" is not supported`)
}
