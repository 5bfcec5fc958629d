//go:build !standalone

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// fecDelta has published figures: by how many nanoseconds forward error correction
// changes the average and the maximum latency of a chassis per frame size. Maxima
// of large frames became lower.
var fecDelta = map[int32][2]int64{
	64: {319, 280}, 128: {509, 540}, 256: {316, 300}, 512: {319, 80},
	1024: {309, 90}, 1280: {322, -230}, 1518: {319, -190}, 9216: {372, -1220},
}

// bothResults contains the results of both configurations of the sample, which several tests
// read.
var bothResults struct {
	once    sync.Once
	off, on string
}

// results runs both configurations of the sample once, and returns the files with their
// results.
func results(t *testing.T) (off, on string) {
	t.Helper()
	bothResults.once.Do(func() {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			t.Fatal(err)
		}
		shared = dir
		const samples = "../../config/samples/compare/"
		off, on := filepath.Join(dir, "off.json"), filepath.Join(dir, "on.json")
		start(t, "run", "-f", samples+"3-fec-off-benchmark.yaml", "-o", "json", "--output-file", off).wants(exit.Passed, "", "")
		start(t, "run", "-f", samples+"4-fec-on-benchmark.yaml", "-o", "json", "--output-file", on).wants(exit.Passed, "", "")
		bothResults.off, bothResults.on = off, on
	})
	if bothResults.on == "" {
		t.Fatal("another test could not run the configurations")
	}
	return bothResults.off, bothResults.on
}

// Two models whose published difference comes back through the whole path.
func TestCompareGivesThePublishedDifferences(t *testing.T) {
	sendsNoFrames(t)
	off, on := results(t)
	p := start(t, "compare", "FEC off="+off, "FEC on="+on, "-o", "json")
	p.wants(exit.Passed, "", "")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(p.stdout.String()), &c); err != nil {
		t.Fatal(err)
	}
	if c.Schema != compare.Schema || len(c.Results) != 2 || len(c.Notes) != 0 {
		t.Fatalf("%s of %v, notes %v", c.Schema, c.Results, c.Notes)
	}
	seen := 0
	for _, l := range c.Lines {
		if l.Test == "latency" && l.Load != "throughput" {
			continue
		}
		delta := l.Cells[1].Difference
		if delta == nil {
			t.Errorf("%s %s %d B: no difference: %s", l.Test, l.Metric, l.FrameSize, l.Cells[1].Reason)
			continue
		}
		want := map[compare.Metric]int64{compare.LatencyAvg: fecDelta[l.FrameSize][0], compare.LatencyMax: fecDelta[l.FrameSize][1]}[l.Metric]
		if *delta != want {
			t.Errorf("%s %s %d B: %d, want %d", l.Test, l.Metric, l.FrameSize, *delta, want)
		}
		winner := "FEC off"
		if want < 0 {
			winner = "FEC on"
		}
		if want != 0 && strings.Join(l.Winners, ",") != winner {
			t.Errorf("%s %s %d B: %v wins, want %s", l.Test, l.Metric, l.FrameSize, l.Winners, winner)
		}
		seen++
	}
	if seen != 5*len(fecDelta) {
		t.Errorf("%d lines, want three of the throughput test and two of the latency test per frame size", seen)
	}
	start(t, "compare", off, on).wants(exit.Passed, "Comparison of fec-off and fec-on", "")
	start(t, "compare", off, off).wants(exit.Use, "", `two results are named "`+off)
	start(t, "compare", off, on, "-o", "html").wants(exit.Passed, "<td>−1.220</td>", "")
	start(t, "compare", off, on, "-o", "markdown").wants(exit.Passed, "| -1.220 | ", "")
}

// Shorter prefixes that cover the networks change nothing on a device that matches the
// longest one: frames that take them would come back to the port that sent them.
func TestLongestMatchChangesNothing(t *testing.T) {
	sendsNoFrames(t)
	const samples = "../../config/samples/longest-match/"
	var files []string
	for _, name := range []string{"3-networks", "4-covered-networks"} {
		file := filepath.Join(t.TempDir(), name+".json")
		start(t, "run", "-f", samples+name+"-benchmark.yaml", "-o", "json", "--output-file", file).wants(exit.Passed, "", "")
		files = append(files, file)
	}
	p := start(t, "compare", "networks="+files[0], "covered="+files[1], "-o", "json")
	p.wants(exit.Passed, "", "")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(p.stdout.String()), &c); err != nil {
		t.Fatal(err)
	}
	seen := map[compare.Metric]bool{}
	for _, l := range c.Lines {
		if delta := l.Cells[1].Difference; delta == nil || *delta != 0 {
			t.Errorf("%s %s %d B: difference %v (%s), want 0", l.Test, l.Metric, l.FrameSize, delta, l.Cells[1].Reason)
		}
		seen[l.Metric] = true
	}
	if !seen[compare.LatencyAvg] || len(seen) < 3 {
		t.Errorf("compared are %v", seen)
	}
}

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"kind": "Benchmark"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "compare", "one.json").wants(exit.Use, "", "a comparison needs at least two results\nhint: nodrop compare before.json after.json")
	start(t, "compare", filepath.Join(dir, "none.json"), other).wants(exit.Use, "", "none.json: no such file or directory")
	start(t, "compare", other, other).wants(exit.Use, "", `other.json: the schema is "", not "nodrop.dev/result/v1alpha2"`)
	start(t, "compare", other, other, "-o", "junit").wants(exit.Use, "", `"junit" is not an output format: give table, json, yaml, markdown, html or pdf`)
	start(t, "compare", "a", "b", "--kubeconfig", "/nowhere").wants(exit.Use, "", "hint: set KUBECONFIG or give --kubeconfig")
}

// A result that was kept is written in the other formats without a cluster.
func TestReportOfAFile(t *testing.T) {
	sendsNoFrames(t)
	off, _ := results(t)
	for format, want := range map[string]string{
		"table":    "13.592    69.6875  1.510  2.377   4.240",
		"html":     "<h1>fec-off</h1>",
		"markdown": "# Benchmark team-routing/fec-off: Measured",
		"csv":      "team-routing,fec-off,Measured,chassis-fec-off,throughput,,Throughput,64,,,0,0,0,0,Simulated,\"the device is a model: the figures were computed, and nothing was measured\"",
		"junit":    `<testsuite name="throughput" tests="8" failures="0" errors="0" skipped="0"`,
		"json":     `"schema": "nodrop.dev/result/v1alpha2"`,
		"yaml":     "schema: nodrop.dev/result/v1alpha2",
	} {
		start(t, "report", off, "-o", format).wants(exit.Passed, want, "")
	}
	start(t, "report", off, "-o", "docx").wants(exit.Use, "", `"docx" is not an output format: give table, json, yaml, html, pdf, markdown, csv, junit, github or sarif`)
}
