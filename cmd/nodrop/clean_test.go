package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// deaths are moments at which a run is killed.
var deaths = []struct {
	name  string
	await func(m *machine, p *process)
}{
	{"when the interfaces are moved", func(m *machine, p *process) {
		m.eventually("the first interface to leave", func() bool { return !m.has("nd-p1") })
	}},
	{"when interfaces come back", func(m *machine, p *process) {
		p.says("latency 128 B: 0.1% for 24h0m0s")
		m.must(p.cmd.Process.Signal(syscall.SIGTERM))
		m.eventually("the first interface to come back", func() bool { return m.has("nd-p1") })
	}},
	{"when the note is written", func(m *machine, _ *process) {
		m.eventually("the note", func() bool {
			notes, _ := filepath.Glob(filepath.Join(m.state, "*", "note.json"))
			return len(notes) > 0
		})
	}},
	{"in a trial", func(_ *machine, p *process) { p.says("latency 128 B: 0.1% for 24h0m0s") }},
	{"before the note is written", func(m *machine, _ *process) {
		m.eventually("the directory", func() bool { return len(m.notes()) > 0 })
	}},
}

// eventually waits for a state of the machine that may be short.
func (m *machine) eventually(what string, holds func() bool) {
	m.t.Helper()
	eventually(m.t, what, holds, func() string { return m.interfaces() })
}

// A run is killed at many moments; every second time the next run puts its interfaces
// back, and otherwise nodrop clean does.
func TestInterfacesComeBackFromARunThatWasKilled(t *testing.T) {
	t.Parallel() // It compares no rates.
	m := newMachine(t)
	before := m.interfaces()
	kills := 10
	if testing.Short() {
		kills = 2
	}
	for i := range kills {
		death := deaths[i%len(deaths)]
		t.Log(death.name)
		p := m.prepare(longBenchmark, physicalBed)
		// As by "ip netns exec", it has mounts of its own, which end with it.
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		p.begin()
		death.await(m, p)
		m.must(p.cmd.Process.Kill())
		p.exit()
		if i%2 == 0 {
			p = start(t, "clean", "--state-dir", m.state)
			p.wants(exit.Passed, "", "")
		} else {
			p = m.run(shortBenchmark, physicalBed)
			p.measures("")
		}
		m.backAsBefore(before)
		if t.Failed() {
			return
		}
	}
}

// What a run in place has added and changed goes away with nodrop clean too.
func TestInterfacesUsedInPlaceAreRestoredAfterAKill(t *testing.T) {
	t.Parallel() // It compares no rates.
	m := newMachine(t)
	before := m.interfaces()
	p := m.run(longBenchmark, physicalBed, "--in-place")
	p.says("latency 128 B: 0.1% for 24h0m0s")
	m.must(p.cmd.Process.Kill())
	p.exit()
	if m.interfaces() == before {
		t.Error("the run changed nothing: the test shows nothing")
	}
	start(t, "clean", "--state-dir", m.state).wants(exit.Passed, "interface nd-p2, which benchmark quick had", "")
	m.backAsBefore(before)
	start(t, "clean", "--state-dir", m.state).wants(exit.Passed, "nothing is to be put back", "")
}

func TestCleanLeavesARunThatLivesAlone(t *testing.T) {
	t.Parallel() // It compares no rates.
	m := newMachine(t)
	before := m.interfaces()
	p := m.run(longBenchmark, physicalBed)
	p.says("latency 128 B: 0.1% for 24h0m0s")
	start(t, "clean", "--state-dir", m.state).wants(exit.Passed, "runs that go on, with their interfaces: 1\n", "")
	if m.has("nd-p1") {
		t.Error("an interface of the run came back")
	}
	m.run(shortBenchmark, physicalBed).wants(exit.Use, "", `spec.ports[0].attachment.hostDevice.interface: Invalid value: "nd-p1": benchmark quick has this interface, in process`)
	// A second interruption ends the run at once, and still not without them.
	m.must(p.cmd.Process.Signal(os.Interrupt))
	p.says("stopping")
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended already
	p.wants(exit.Aborted, "", "stopping")
	m.backAsBefore(before)
}
