package xdp

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/processors"
	"nodrop.dev/nodrop/internal/traffic"
)

// Of 64 processors one sends, and 10 s pass.
func TestForeign(t *testing.T) {
	const sends = 7
	begin := cpuTime{at: time.Unix(0, 0), own: map[int]map[int]spent{sends: {11: {user: 1e9, system: 1e9}}}}
	for name, test := range map[string]struct {
		busy map[int]spent
		// own is the time of thread 11, which was bound before, and of 12, which is new.
		own, fresh spent
		process    time.Duration
		want       bool
	}{
		"own load":                  {busy: map[int]spent{sends: {user: 4e9, system: 6e9}}, own: spent{user: 4e9, system: 6e9}, fresh: spent{user: 1e9, system: 1e9}, process: 10e9},
		"a hog on the processor":    {busy: map[int]spent{sends: {user: 7e9, system: 3e9}}, own: spent{user: 3e9, system: 4e9}, process: 5e9, want: true},
		"a hog on another":          {busy: map[int]spent{sends: {user: 5e9}, 8: {user: 10e9}}, own: spent{user: 6e9, system: 1e9}, process: 5e9},
		"just below":                {busy: map[int]spent{sends: {user: 2e9}}, own: spent{user: 1e9, system: 1e9}},
		"just above":                {busy: map[int]spent{sends: {user: 2.1e9}}, own: spent{user: 1e9, system: 1e9}, want: true},
		"others in the kernel":      {busy: map[int]spent{sends: {system: 7e9}}, own: spent{user: 1e9, system: 2e9}, process: 1e9, want: true},
		"a hypervisor":              {busy: map[int]spent{sends: {stolen: 3e9}}, own: spent{user: 1e9, system: 1e9}, want: true},
		"own threads, bound or not": {busy: map[int]spent{sends: {user: 8e9}}, own: spent{user: 4e9, system: 1e9}, process: 8e9},
		// Soft interrupts in its context make a thread's system time longer than that.
		"own soft interrupts":           {busy: map[int]spent{sends: {system: 1e9}}, own: spent{user: 1e9, system: 9e9}, process: 8e9},
		"others beside soft interrupts": {busy: map[int]spent{sends: {user: 5e9, system: 1e9}}, own: spent{user: 1e9, system: 9e9}, process: 8e9, want: true},
	} {
		end := cpuTime{at: time.Unix(10, 0), busy: test.busy, own: map[int]map[int]spent{sends: {11: test.own, 12: test.fresh}}, process: test.process}
		if notes := begin.foreign(end, sends, "here"); (len(notes) == 1) != test.want {
			t.Errorf("%s: %v", name, notes)
		}
	}
	short := cpuTime{at: time.Unix(0, 1e8), busy: map[int]spent{sends: {user: 2e8}}}
	if notes := begin.foreign(short, sends, "here"); len(notes) != 0 {
		t.Errorf("too short to tell: %v", notes)
	}
}

// A process that takes half of the processor that sends is named, however many there
// are, and a bound thread of this process is not.
func TestAHogOnTheSendersProcessor(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	processor := usable[0]
	observe := func() []traffic.Note {
		t.Helper()
		var begin, end cpuTime
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // and the thread ends with it
			err := pin(processor)
			if err == nil {
				begin, err = cpuNow()
			}
			for until := time.Now().Add(time.Second); time.Now().Before(until); {
			}
			if err == nil {
				end, err = cpuNow()
			}
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return begin.foreign(end, processor, "here")
	}
	hog := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hog.Process.Kill() // may have ended with the context
		_ = hog.Wait()
	})
	var set unix.CPUSet
	set.Set(processor)
	if err := unix.SchedSetaffinity(hog.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, hog.Process.Pid, -10); err != nil {
		t.Fatal(err)
	}
	if notes := observe(); len(notes) != 1 || notes[0].Kind != traffic.NoteForeignLoad || !strings.Contains(notes[0].Text, "of here, on which the tester sends") {
		t.Errorf("%v, want one about the hog", notes)
	}
}
