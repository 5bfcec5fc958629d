package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// calibrationSample is the sample of the calibration, on ports and in times that a
// test can afford.
func calibrationSample(t *testing.T, files ...string) string {
	t.Helper()
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(samplesDir, "calibration", file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.NewReplacer("speed: 10G", "speed: 100M", "trafficProfileName: calibration", "trafficProfileName: calibration\n  settleTime: 100ms\n  restTime: 0s", "trialDuration: 10s", "trialDuration: 300ms",
		"resolution: 0.5%", "resolution: 20%\n      maxLoad: 50%\n      searchTrialDuration: 300ms",
		"[64, 128, 256, 512, 1024, 1280, 1518]", "[128]").Replace(strings.Join(all, "---\n"))
}

// The sample measures the ends of a veth pair, which then calibrate a run with a
// device.
func TestCalibrateAndRun(t *testing.T) {
	needsRoot(t)
	beds := calibrationSample(t, "1-testbeds.yaml")
	file := filepath.Join(t.TempDir(), "calibration.json")
	p := start(t, "run", "-f", manifests(t, calibrationSample(t, "2-calibrate-benchmark.yaml"), beds), "-o", "json", "--output-file", file)
	p.measures("")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	c := document.Environment.Calibration
	// Trials of 300 ms are too short for foreign load to be seen.
	if c == nil || c.Benchmark != "nodrop-lab/calibrate" || c.TestBedName != "loops" || c.Engine != v1alpha1.EngineXDP || c.JoinedBy != v1alpha1.JoinedByLoops || len(c.FrameSizes) != 1 {
		t.Fatalf("%+v", c)
	}
	if want := []string{"node1/veth p1", "node1/veth p2"}; !slices.Equal(c.Interfaces, want) {
		t.Errorf("interfaces %q, want %q: the bed's own were not measured", c.Interfaces, want)
	}
	if f := c.FrameSizes[0]; f.FrameSize != 128 || f.LineRatePPM < 1000 || f.FramesPerSecond == 0 || f.Latency == nil || f.Latency.MinNs == 0 {
		t.Errorf("%+v", f)
	}

	p = start(t, "run", "-f", manifests(t, xdpBenchmark, xdpManifests), "--calibration", file)
	p.measures("Calibration  bed loops, ports joined at the tester, without the bed's cables; by benchmark")
}

func TestCalibrationMustBeOne(t *testing.T) {
	sendsNoFrames(t)
	dir := t.TempDir()
	sim := filepath.Join(samplesDir, "soak", "benchmark.yaml")
	of := filepath.Join(dir, "soak.json")
	start(t, "run", "-f", sim, "-o", "json", "--output-file", of).wants(exit.Passed, "", "")
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		of:                              "it is the result of a bed with a device",
		empty:                           `the schema is "", not`,
		filepath.Join(dir, "none.json"): "no such file",
	} {
		start(t, "run", "-f", sim, "--calibration", file).wants(exit.Use, "", want)
	}
}
