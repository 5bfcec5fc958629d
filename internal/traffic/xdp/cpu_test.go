package xdp

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// Of 64 processors one sends, and 10 s pass.
func TestForeign(t *testing.T) {
	const sends = 7
	begin := machine.CPUTime{At: time.Unix(0, 0), Own: map[int]map[int]machine.Spent{sends: {11: {User: 1e9, System: 1e9}}}}
	for name, test := range map[string]struct {
		busy map[int]machine.Spent
		// own is the time of thread 11, which was bound before, and of 12, which is new.
		own, fresh machine.Spent
		process    time.Duration
		want       bool
	}{
		"own load":                  {busy: map[int]machine.Spent{sends: {User: 4e9, System: 6e9}}, own: machine.Spent{User: 4e9, System: 6e9}, fresh: machine.Spent{User: 1e9, System: 1e9}, process: 10e9},
		"a hog on the processor":    {busy: map[int]machine.Spent{sends: {User: 7e9, System: 3e9}}, own: machine.Spent{User: 3e9, System: 4e9}, process: 5e9, want: true},
		"a hog on another":          {busy: map[int]machine.Spent{sends: {User: 5e9}, 8: {User: 10e9}}, own: machine.Spent{User: 6e9, System: 1e9}, process: 5e9},
		"just below":                {busy: map[int]machine.Spent{sends: {User: 2e9}}, own: machine.Spent{User: 1e9, System: 1e9}},
		"just above":                {busy: map[int]machine.Spent{sends: {User: 2.1e9}}, own: machine.Spent{User: 1e9, System: 1e9}, want: true},
		"others in the kernel":      {busy: map[int]machine.Spent{sends: {System: 7e9}}, own: machine.Spent{User: 1e9, System: 2e9}, process: 1e9, want: true},
		"a hypervisor":              {busy: map[int]machine.Spent{sends: {Stolen: 3e9}}, own: machine.Spent{User: 1e9, System: 1e9}, want: true},
		"own threads, bound or not": {busy: map[int]machine.Spent{sends: {User: 8e9}}, own: machine.Spent{User: 4e9, System: 1e9}, process: 8e9},
		// Soft interrupts in its context make a thread's system time longer than that.
		"own soft interrupts":           {busy: map[int]machine.Spent{sends: {System: 1e9}}, own: machine.Spent{User: 1e9, System: 9e9}, process: 8e9},
		"others beside soft interrupts": {busy: map[int]machine.Spent{sends: {User: 5e9, System: 1e9}}, own: machine.Spent{User: 1e9, System: 9e9}, process: 8e9, want: true},
	} {
		end := machine.CPUTime{At: time.Unix(10, 0), Busy: test.busy, Own: map[int]map[int]machine.Spent{sends: {11: test.own, 12: test.fresh}}, Process: test.process}
		if notes := begin.Foreign(end, sends, "here"); (len(notes) == 1) != test.want {
			t.Errorf("%s: %v", name, notes)
		}
	}
	short := machine.CPUTime{At: time.Unix(0, 1e8), Busy: map[int]machine.Spent{sends: {User: 2e8}}}
	if notes := begin.Foreign(short, sends, "here"); len(notes) != 0 {
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
		var begin, end machine.CPUTime
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // and the thread ends with it
			err := machine.Pin(processor)
			if err == nil {
				begin, err = machine.ReadCPUTime()
			}
			for until := time.Now().Add(time.Second); time.Now().Before(until); {
			}
			if err == nil {
				end, err = machine.ReadCPUTime()
			}
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return begin.Foreign(end, processor, "here")
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
