package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// entriesOf counts the entries of the list that NoDrop has given Linux.
func (l *linuxDevice) entriesOf() int {
	return strings.Count(l.Running(), "ip saddr 198.19.")
}

// TestRunConfigurationScale searches the number of entries of an access list with which Linux delays frames by half of what the longest list
// of the bed does; with -short it leaves this out. A list without the network of one direction drops its frames, and Linux rejects one for an interface that it cannot have.
func TestRunConfigurationScale(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessListScale)
	devicesample.AddLists(&l.sample.Bed)
	if testing.Short() { // TestConfigurationScale of the method searches by latency.
		l.sample.Benchmark.Spec.Tests = l.sample.Benchmark.Spec.Tests[1:]
	}
	l.measure()
}

// TestInterruptedConfigurationScale interrupts and kills a run while the device has a list: the run that was interrupted restores the
// device, and the next one after a killed run does so before its first trial.
func TestInterruptedConfigurationScale(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessListScale)
	before := l.Running()
	l.sample.Ask(t, "- {name: entries, configurationScale: {load: 100pps, minimum: 50, trialDuration: 1h, waitTime: 1h}}\n", 128)
	l.sample.Benchmark.Spec.Tests[0].ConfigurationScale.TrialDuration.Duration = 200 * time.Millisecond
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if testing.Short() && signal == syscall.SIGTERM {
			continue // TestInterruptedPowerReset interrupts a run that has changed such a device.
		}
		p := l.start(l.sample)
		p.has(func() bool { return l.entriesOf() == 48 })
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		code := p.exit()
		if signal == syscall.SIGTERM && (code != exit.Aborted || l.Running() != before) {
			t.Fatalf("exit code %d, and the device has\n%.400s\n%s", code, l.Running(), &p.stderr)
		}
	}
	if l.entriesOf() != 48 {
		t.Fatal("a run was killed while the device has a list, and it has none")
	}
	l.sample.Ask(t, "- {name: latency, latency: {loads: [1%], trialDuration: 200ms}}\n", 128)
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		if rows[0].Frames.Lost > 0 {
			t.Errorf("%+v: %s", rows[0].Frames, rows[0].Message)
		}
	}
	p := l.start(l.sample)
	if code := p.exit(); code == exit.Failed || l.Running() != before {
		t.Errorf("exit code %d, and the device has\n%.400s\n%s", code, l.Running(), &p.stderr)
	}
}

// has waits until something holds.
func (p *process) has(holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("it did not happen: %s\n%s", &p.stderr, &p.stdout)
		}
	}
}
