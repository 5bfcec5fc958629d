package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	vm "nodrop.dev/nodrop/internal/dut/machine"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// shortMachine are flags that shorten the sample machine: one size, and tests of a few frames.
var shortMachine = []string{
	"--set", "profile.spec.frameSizes=[128]", "--set", "benchmark.spec.settleTime=300ms", "--set", "benchmark.spec.restTime=0s",
	"--set", "benchmark.spec.tests=[{name: latency, latency: {loads: [0.2%], trialDuration: 1s}}]",
}

// machineRun prepares nodrop run with the sample machine, which finds its kernel in the cache.
func machineRun(t *testing.T, args ...string) *process {
	t.Helper()
	needsRoot(t)
	testserver.Installed(t, "qemu-system-x86_64", "QEMU", "hack/vm/install")
	dir := filepath.Dir(filepath.Dir(testserver.Cached(t, "vm/debian13/release", "kernel of an emulated machine", "hack/vm/prepare debian13")))
	p := prepare(t, "nodrop", slices.Concat([]string{"run", "-f", filepath.Join(samplesDir, "machine"), "--state-dir", t.TempDir()}, shortMachine, args)...)
	p.cmd.Env = append(p.cmd.Env, vm.DirEnv+"="+dir)
	return p
}

// TestRunMachine measures the sample machine with real frames: its kernel swaps labels in one variant, and pops them in the other. Nothing
// of the machine is left.
func TestRunMachine(t *testing.T) {
	before := machineFolders(t)
	output := filepath.Join(t.TempDir(), "result.json")
	p := machineRun(t, "-o", "json", "--output-file", output, "--set", "benchmark.spec.capture={frames: 100, bytesPerFrame: 128}")
	p.begin()
	if code := p.exit(); code != exit.Passed && code != exit.Inconclusive {
		t.Fatalf("exit code %d: %s", code, &p.stderr)
	}
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var d report.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	want := map[v1alpha1.VariantName][2]int{"swap": {2001, 2000}, "pop": {noLabel, noLabel}}
	if len(d.Rows) != len(want) {
		t.Fatalf("%d rows, want %d: %s", len(d.Rows), len(want), d.Message)
	}
	for _, row := range d.Rows {
		if row.Frames.Sent == 0 || row.Frames.Lost != 0 {
			t.Errorf("%s: %d of %d frames were lost: %s", row.Variant, row.Frames.Lost, row.Frames.Sent, row.Message)
		}
		if row.Capture == nil {
			t.Errorf("%s: no frame was kept: %s", row.Variant, row.Message)
			continue
		}
		kept := keptLabels(t, filepath.Join(filepath.Dir(output), row.Capture.File))
		for i, label := range want[row.Variant] {
			if port := fmt.Sprintf("p%d", i+1); len(kept[port]) != 1 || kept[port][label] == 0 {
				t.Errorf("%s: port %s received frames with the labels %v, want %d only", row.Variant, port, kept[port], label)
			}
		}
	}
	checkMachineDocument(t, &d)
	expectNoMachine(t, before)
}

// checkMachineDocument expects that the result describes the machine and both of its configurations.
func checkMachineDocument(t *testing.T, d *report.Document) {
	t.Helper()
	if !strings.Contains(d.Environment.Device, "emulated machine with the kernel debian13 (") {
		t.Errorf("the device is %q", d.Environment.Device)
	}
	configurations := d.Environment.Configurations()
	if len(configurations) != 2 || configurations["swap"].Digest == configurations["pop"].Digest {
		t.Errorf("the configurations are %v", configurations)
	}
	for _, c := range slices.Collect(maps.Values(configurations)) {
		if !strings.HasPrefix(c.Software, "Linux ") || strings.TrimPrefix(c.Software, "Linux ") == hostRelease(t) {
			t.Errorf("the software of the device is %q", c.Software)
		}
	}
}

// hostRelease is the release of the kernel of this computer.
func hostRelease(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	return unix.ByteSliceToString(u.Release[:])
}

// TestRunMachineEnds ends runs while the machine starts and while it is measured: by an interruption, after which nothing is left, and by
// SIGKILL, after which nodrop clean removes the files and nothing else is left.
func TestRunMachineEnds(t *testing.T) {
	for name, c := range map[string]struct {
		signal unix.Signal
		// measured reports whether the run is ended when it measures, and not when the machine starts.
		measured bool
		code     int
	}{
		"interrupted":            {unix.SIGINT, true, exit.Aborted},
		"killed":                 {unix.SIGKILL, true, -1},
		"killed while it starts": {unix.SIGKILL, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, c.measured) // TestRunMachine leaves nothing either.
			// Folders of machines of a killed run of the tests would be counted.
			start(t, "clean", "--state-dir", t.TempDir()).exit()
			before := machineFolders(t)
			p := machineRun(t, "--set", "benchmark.spec.tests=[{name: latency, latency: {loads: [0.2%], trialDuration: 10m}}]")
			p.begin()
			folder, pid := awaitMachine(t, p, before)
			if c.measured {
				p.awaitStderr("0.2% for 10m")
			}
			if err := p.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if code := p.exit(); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, &p.stderr)
			}
			awaitGone(t, fmt.Sprintf("/proc/%d", pid))
			if c.signal == unix.SIGKILL {
				clean := start(t, "clean", "--state-dir", t.TempDir())
				if code := clean.exit(); code != exit.Passed || !strings.Contains(clean.stdout.String(), "emulated machines that runs have left when they were killed, and that are gone: 1") {
					t.Errorf("nodrop clean: exit code %d: %s%s", code, &clean.stdout, &clean.stderr)
				}
			}
			if _, err := os.Stat(folder); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", folder, err)
			}
			expectNoMachine(t, before)
		})
	}
}

// machineFolders are the folders of emulated machines on this computer.
func machineFolders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/run/nodrop/machine-*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// awaitMachine waits until a run has started QEMU, and returns the folder of the machine and the process.
func awaitMachine(t *testing.T, p *process, before []string) (folder string, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, folder := range machineFolders(t) {
			text, err := os.ReadFile(filepath.Join(folder, "qemu.pid"))
			if err != nil || slices.Contains(before, folder) {
				continue
			}
			if n, _ := fmt.Sscan(string(text), &pid); n == 1 {
				return folder, pid
			}
		}
	}
	t.Fatalf("no machine was started: %s", &p.stderr)
	return "", 0
}

// awaitStderr waits until a run has printed a text.
func (p *process) awaitStderr(text string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(p.stderr.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the run did not print %q: %s", text, &p.stderr)
		}
	}
}

// awaitGone waits until a file is gone.
func awaitGone(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is left", path)
		}
	}
}

// expectNoMachine expects no further folder of a machine, and no interface of one in this network namespace.
func expectNoMachine(t *testing.T, before []string) {
	t.Helper()
	for _, folder := range machineFolders(t) {
		if !slices.Contains(before, folder) {
			t.Errorf("folder %s is left", folder)
		}
	}
	for _, name := range []string{"p1", "p2"} {
		if _, err := net.InterfaceByName(name); err == nil {
			t.Errorf("interface %s is left", name)
		}
	}
}
