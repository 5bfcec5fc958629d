package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const capturingBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: router}
spec:
  testBedName: frr
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  capture: {frames: 4}
  tests:
  - name: latency
    latency: {loads: [1%], trialDuration: 200ms}
`

// The frames that a benchmark asks for are in files next to the result, which names them
// with their digests.
func TestRunCaptures(t *testing.T) {
	needsRoot(t)
	output := filepath.Join(t.TempDir(), "result.json")
	benchmark := manifests(t, capturingBenchmark, strings.Replace(xdpManifests, "[128, 9216]", "[128]", 1))
	start(t, "run", "-f", benchmark, "-o", "json", "--output-file", output).measures("")
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var document report.Document
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Rows) != 1 || document.Rows[0].Capture == nil {
		t.Fatalf("rows: %+v", document.Rows)
	}
	c := document.Rows[0].Capture
	file, err := os.ReadFile(filepath.Join(filepath.Dir(output), c.File))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != c.SHA256 || c.File != "result.json.captures/latency-128-b-at-1.pcapng" {
		t.Errorf("%s has another digest than %s", c.File, c.SHA256)
	}
	r, err := pcapgo.NewNgReader(strings.NewReader(string(file)), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	first := map[int]int{}
	for range c.Frames {
		_, info, options, err := r.ReadPacketDataWithOptions()
		if err != nil || info.Length != 124 || info.CaptureLength != 124 {
			t.Fatalf("%+v, %v", info, err)
		}
		if strings.HasPrefix(options.Comments[0], "trial at 1%: first of the trial") {
			first[info.InterfaceIndex]++
		}
	}
	if first[0] != 4 || first[1] != 4 {
		t.Errorf("the first frames by port: %v, want 4 of each", first)
	}
}

// What cannot be captured is refused before anything runs.
func TestRunRefusesCaptures(t *testing.T) {
	sendsNoFrames(t)
	start(t, "run", "-f", manifests(t, capturingBenchmark, xdpManifests)).
		wants(exit.Use, "", "nodrop: spec.capture: captured frames are written to files next to the result, and the result has none\nhint: name an --output-file")
	sim := strings.Replace(simBenchmark, "  tests:\n", "  capture: {}\n  tests:\n", 1)
	start(t, "run", "-f", manifests(t, sim, simManifests), "--output-file", filepath.Join(t.TempDir(), "r")).
		wants(exit.Use, "", `spec.capture: Forbidden: engine sim of test bed chassis keeps no frames: leave capture out, or choose a bed with engine xdp`)
	var names standalone.Captures
	names.Names = map[string]bool{}
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "../a b", FrameSize: 64, Load: "0.5%"}}
	for _, want := range []string{"..-a-b-64-b-at-0.5.pcapng", "..-a-b-64-b-at-0.5-2.pcapng"} {
		if got := names.Name(row); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
