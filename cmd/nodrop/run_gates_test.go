package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// gatedRun is the simulated benchmark with gates.
func gatedRun(t *testing.T, name, gates string) string {
	t.Helper()
	benchmark := strings.Replace(simBenchmark, "  tests:\n", "  gates: ["+gates+"]\n  tests:\n", 1)
	return manifests(t, strings.Replace(benchmark, "metadata: {name: chassis", "metadata: {labels: {release: last}, name: "+name, 1), simManifests)
}

// TestRunWithGates ends with the codes of the verdicts, which are those of the phases.
func TestRunWithGates(t *testing.T) {
	sendsNoFrames(t)
	dir := t.TempDir()
	result := filepath.Join(dir, "first.json")
	absolute := func(metric, bound string) string {
		return "{name: g, test: throughput, metric: " + metric + ", " + bound + "}"
	}
	start(t, "run", "-f", gatedRun(t, "first", absolute("LineRate", "min: 1%")), "-o", "json", "--output-file", result).wants(exit.Passed, "", "")
	relative := func(baseline string) string {
		return "{name: g, test: throughput, metric: Throughput, relative: {baseline: " + baseline + ", maxDecrease: 0%, maxIncrease: 0%}}"
	}
	changed := filepath.Join(dir, "changed.json")
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var d report.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d.Rows[0].Frames.OfferedFramesPerSecond++
	if text, err = json.Marshal(d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		gates     string
		baselines []string
		code      int
		stderr    string
	}{
		"beyond a bound":           {absolute("LineRate", "min: 99.9999%"), nil, exit.Failed, ""},
		"within a bound":           {absolute("LatencyMax", "max: 1s"), nil, exit.Passed, ""},
		"no baseline":              {relative("{benchmarkName: first}"), nil, exit.Inconclusive, "gate g will be inconclusive: no finished benchmark first is known"},
		"as the baseline":          {relative("{benchmarkName: first}"), []string{result}, exit.Passed, ""},
		"by its labels":            {relative("{benchmarkSelector: {matchLabels: {release: last}}}"), []string{result}, exit.Passed, ""},
		"one frame less":           {relative("{benchmarkName: first}"), []string{changed}, exit.Failed, ""},
		"an empty directory":       {relative("{trend: {}}"), []string{t.TempDir()}, exit.Inconclusive, "the history has no run"},
		"a file that is not there": {relative("{trend: {}}"), []string{"none.json"}, exit.Use, "--baseline: stat none.json"},
		"nothing to compare":       {absolute("LineRate", "min: 1%"), []string{result}, exit.Use, "no gate of benchmark second is relative"},
		"a typo":                   {absolute("LineRates", "min: 1%"), nil, exit.Use, `spec.gates[0].metric: Invalid value: "LineRates": test throughput has no such figure: give one of Throughput, LineRate`},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"run", "-f", gatedRun(t, "second", tc.gates), "-o", "json"}
			for _, b := range tc.baselines {
				args = append(args, "--baseline", b)
			}
			p := start(t, args...)
			p.wants(tc.code, "", tc.stderr)
			if tc.code == exit.Use {
				return
			}
			var d report.Document
			if err := json.Unmarshal([]byte(p.stdout.String()), &d); err != nil {
				t.Fatal(err)
			}
			want := map[int]v1alpha1.BenchmarkPhase{exit.Passed: v1alpha1.PhasePassed, exit.Failed: v1alpha1.PhaseFailed, exit.Inconclusive: v1alpha1.PhaseInconclusive}[tc.code]
			if d.Phase != want || string(d.Gates.Verdict) != string(want) {
				t.Errorf("phase %s, verdict %s, want %s", d.Phase, d.Gates.Verdict, want)
			}
		})
	}
	t.Run("the trend of its own results", func(t *testing.T) {
		nightly := t.TempDir()
		file := gatedRun(t, "nightly", "{name: g, test: throughput, metric: Throughput, relative: {baseline: {trend: {minRuns: 2}}, maxDecrease: 0%}}")
		for i, code := range []int{exit.Inconclusive, exit.Inconclusive, exit.Passed} {
			out := filepath.Join(nightly, string(rune('a'+i))+".json")
			start(t, "run", "-f", file, "--baseline", nightly, "-o", "json", "--output-file", out).wants(code, "", "")
			// Runs within a second are of one time, which names them.
			redate(t, out, i)
		}
	})
	t.Run("reported", func(t *testing.T) {
		p := start(t, "run", "-f", gatedRun(t, "second", absolute("LineRate", "min: 99.9999%")), "-o", "github")
		p.wants(exit.Failed, "", "")
		if out := p.stdout.String(); !strings.Contains(out, "::error title=Gate g Failed::throughput ") {
			t.Error(out)
		}
	})
}

// redate gives a result another time.
func redate(t *testing.T, file string, days int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d report.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d.StartTime.Time = d.StartTime.AddDate(0, 0, days-10)
	if text, err = json.Marshal(d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
