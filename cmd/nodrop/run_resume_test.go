package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// slowBenchmark has two rows that come soon at a pace of 60, and two that take a day each.
var slowBenchmark = strings.NewReplacer(
	"0.0001%, maxLoad: 99.994%", "50%, maxLoad: 99.994%, minLoad: 40%, trialDuration: 10s",
	"loads: [throughput]", "loads: [throughput], trialDuration: 24h",
).Replace(simBenchmark)

// A run that was interrupted, or killed, goes on where it was: its finished rows stay as
// they are, the others are measured, and the result says so.
func TestRunResumes(t *testing.T) {
	sendsNoFrames(t)
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			benchmark := manifests(t, slowBenchmark, simManifests)
			output := filepath.Join(t.TempDir(), "result.json")
			args := []string{"run", "-f", benchmark, "-o", "json", "--output-file", output}
			p := start(t, append(slices.Clone(args), "--sim-pace", "60")...)
			p.says("99.9940% of line rate")
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			p.exit()
			if signal == syscall.SIGINT {
				p.ended(exit.Aborted, "", "nodrop: 2 finished rows are kept in "+output+".rows\nhint: the same command with --resume goes on with them")
			}
			before, err := os.ReadFile(output + ".rows")
			if err != nil {
				t.Fatal(err)
			}
			start(t, append(slices.Clone(args), "--resume")...).wants(exit.Passed, "", "latency 1518 B")
			text, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			var document report.Document
			if err := json.Unmarshal(text, &document); err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(document.Notes, func(note string) bool {
				return strings.HasPrefix(note, "this run was resumed 2") && strings.Contains(note, ": 2 finished rows had been measured by the run that began 2")
			})
			if len(document.Rows) != 4 || !said {
				t.Errorf("%d rows, notes %q", len(document.Rows), document.Notes)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(before)), "\n")[1:] {
				if row, err := json.Marshal(document.Rows[i]); err != nil || string(row) != line {
					t.Errorf("row %d was measured again: %s, before %s", i, row, line)
				}
			}
			if _, err := os.Stat(output + ".rows"); !os.IsNotExist(err) {
				t.Errorf("the rows of a run that has ended are left: %v", err)
			}
			start(t, append(slices.Clone(args), "--resume")...).wants(exit.Use, "", "nodrop: --resume: no run of this benchmark was interrupted: there are no finished rows in "+output+".rows")
		})
	}
}

// Rows of something else are not made part of a result.
func TestRunResumesTheSameOnly(t *testing.T) {
	sendsNoFrames(t)
	benchmark := manifests(t, slowBenchmark, simManifests)
	output := filepath.Join(t.TempDir(), "result.json")
	args := []string{"run", "-f", benchmark, "-o", "json", "--output-file", output}
	p := start(t, append(slices.Clone(args), "--sim-pace", "60")...)
	p.says("99.9940% of line rate")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.exit()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"the profile":   {[]string{"--set", "trafficprofile.spec.frameSizes=[64]"}, "--resume: the TrafficProfile changed since the 2 finished rows in " + output + ".rows were measured (the run began "},
		"bed and tests": {[]string{"--set", "testbed.spec.engine.sim.ports.count=128", "--set", "benchmark.spec.settleTime=3s"}, "--resume: the Benchmark and the TestBed changed since"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, append(append(slices.Clone(args), "--resume"), tc.args...)...)
			p.wants(exit.Use, "", tc.want)
			if !strings.Contains(p.stderr.String(), "hint: take the change back, or run without --resume") {
				t.Errorf("no hint: %s", &p.stderr)
			}
		})
	}
	header, rows, _ := strings.Cut(read(t, output+".rows"), "\n")
	other := strings.Replace(header, `"the nodrop binary":"`, `"the nodrop binary":"0`, 1)
	if other == header {
		t.Fatalf("the file does not say by which binary: %s", header)
	}
	if err := os.WriteFile(output+".rows", []byte(other+"\n"+rows), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, append(slices.Clone(args), "--resume")...).wants(exit.Use, "", "--resume: the nodrop binary changed since")
	// A run from the start says what it replaces.
	start(t, args...).wants(exit.Passed, "", "nodrop: 2 finished rows are left in "+output+".rows")
}

// Without an output file rows are kept in the cache directory of the user, by the
// manifests that were named.
func TestRunResumesWithoutAnOutputFile(t *testing.T) {
	sendsNoFrames(t)
	benchmark := manifests(t, slowBenchmark, simManifests)
	cache := t.TempDir()
	run := func(args ...string) *process {
		p := prepare(t, "nodrop", append([]string{"run", "-f", benchmark}, args...)...)
		p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+cache)
		p.begin()
		return p
	}
	p := run("--sim-pace", "60")
	p.says("99.9940% of line rate")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Aborted, "", "nodrop: 2 finished rows are kept in "+cache+"/nodrop/chassis-")
	run("--resume").wants(exit.Passed, "Note: this run was resumed", "latency 1518 B")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
