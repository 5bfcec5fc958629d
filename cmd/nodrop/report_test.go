//go:build !standalone

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// The cover of a report has the title, the reader, a logo and links; formats without a cover refuse them.
func TestReportWithACover(t *testing.T) {
	sendsNoFrames(t)
	off, _ := results(t)
	logo := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(logo, []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "report", off, "-o", "html", "--title", "Acceptance", "--customer", "Example Networks", "--logo", logo, "--link", "Grafana=https://grafana.example.com/d/1")
	p.wants(exit.Passed, "<h1>Acceptance</h1>", "")
	page := p.stdout.String()
	for _, want := range []string{"For Example Networks", "data:image/svg&#43;xml;base64,", `<a href="https://grafana.example.com/d/1">Grafana</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "alert(1)") || strings.Contains(page, "<script") {
		t.Error("the page contains the script of the logo")
	}
	start(t, "report", off, "--title", "Acceptance").wants(exit.Use, "", "--title, --customer, --logo and --link are shown by -o html and -o pdf, not by -o table")
	start(t, "report", off, "-o", "html", "--logo", off).wants(exit.Use, "", "the file is no PNG, JPEG or SVG image\nhint: give a PNG, JPEG or SVG image of at most 512 KiB")
	start(t, "report", off, "-o", "html", "--link", "Lab=javascript:alert(1)").wants(exit.Use, "", `--link Lab: "javascript:alert(1)" is no address that begins with https:// or http://`)
}

// A PDF is printed by the installed browser: a report, a comparison and a history. Without a browser the
// message names the remedy, before anything is read.
func TestReportAsPDF(t *testing.T) {
	sendsNoFrames(t)
	off, on := results(t)
	dir := t.TempDir()
	for name, args := range map[string][]string{"report": {"report", off}, "comparison": {"compare", "FEC off=" + off, "FEC on=" + on}, "history": {"history", off}} {
		file := filepath.Join(dir, name+".pdf")
		start(t, append(args, "-o", "pdf", "--output-file", file)...).wants(exit.Passed, "", "")
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), "%PDF-") {
			t.Errorf("%s: %v, %d bytes that are no PDF", name, err, len(text))
		}
	}
	for variable, want := range map[string]string{
		"NODROP_CHROMIUM=/nowhere/chromium": "-o pdf: NODROP_CHROMIUM is \"/nowhere/chromium\", which cannot be run",
		"PATH=/nowhere":                     "-o pdf: a PDF needs Chromium, and PATH has none",
	} {
		p := prepare(t, "nodrop", "report", "none.json", "-o", "pdf")
		p.cmd.Env = append(p.cmd.Env, "NODROP_CHROMIUM=", variable)
		p.begin()
		p.wants(exit.Use, "", want)
		if text := p.stderr.String(); !strings.Contains(text, "hint: install Chromium (Debian: apt-get install chromium-headless-shell), set NODROP_CHROMIUM to its path") {
			t.Errorf("the message %q names no remedy", text)
		}
	}
}

// Results that are not comparable are refused by what differs. A history in HTML leads to the reports next to
// its results.
func TestComparableAndLinkedReports(t *testing.T) {
	sendsNoFrames(t)
	off, _ := results(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	start(t, "run", "-f", "../../config/samples/soak/benchmark.yaml", "-o", "json", "--output-file", other).wants(exit.Passed, "", "")
	p := start(t, "compare", off, other)
	p.wants(exit.Use, "", "the results are not comparable: the ports differ: ")
	if text := p.stderr.String(); !strings.Contains(text, "4 of 10G") || !strings.Contains(text, "hint: compare results of the same tests and ports") {
		t.Errorf("the message is %q", text)
	}
	start(t, "report", other, "-o", "html", "--output-file", filepath.Join(dir, "other.html")).wants(exit.Passed, "", "")
	start(t, "history", other, "-o", "html", "--output-file", filepath.Join(dir, "history.html")).wants(exit.Passed, "", "")
	page, err := os.ReadFile(filepath.Join(dir, "history.html"))
	if err != nil || !strings.Contains(string(page), `<a href="other.html">Report</a>`) {
		t.Errorf("%v: the history does not lead to the report", err)
	}
}
