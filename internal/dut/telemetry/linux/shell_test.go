package linux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry/linux"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

func open(t *testing.T, l interface{ Access() sshaccess.Config }, interfaces ...string) *linux.Reader {
	t.Helper()
	r, err := linux.New(l.Access(), interfaces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestProgramsOfReading counts the processes that a reading starts on the device: tc and nft, and grep if there is much to read.
// Nothing else is started once the first reading has connected.
func TestProgramsOfReading(t *testing.T) {
	l := device(t)
	r := open(t, l)
	few := read(t, r)
	if got := processesOf(t, l, r); got != 2 {
		t.Errorf("a reading starts %d processes, want 2", got)
	}
	const more = 40
	for i := range more {
		l.Run("ip", "link", "add", fmt.Sprintf("more%d", i), "type", "veth", "peer", "name", fmt.Sprintf("most%d", i))
	}
	read(t, r) // The reader finds that there is much to read.
	if got := processesOf(t, l, r); got != 3 {
		t.Errorf("with %d interfaces more a reading starts %d processes, want 3", 2*more, got)
	}
	many := read(t, r)
	for name := range few.Counters {
		if _, has := many.Counters[name]; !has {
			t.Errorf("with %d interfaces more, %q is not read", 2*more, name)
		}
	}
	for name := range few.Sensors {
		if _, has := many.Sensors[name]; !has {
			t.Errorf("with %d interfaces more, the sensor %q is not read", 2*more, name)
		}
	}
	if want := len(few.Counters) + 4*2*more; len(many.Counters) != want {
		t.Errorf("with %d interfaces more %d counters are read, want %d", 2*more, len(many.Counters), want)
	}
}

// processesOf returns the number of processes that the device starts for a reading.
func processesOf(t *testing.T, l *sshrouter.Linux, r *linux.Reader) int {
	t.Helper()
	before := l.Processes()
	read(t, r)
	return l.Processes() - before - 1 // Processes starts one as well.
}

// TestShellKilled ends the shell of a reader between readings: one reading fails, and the next one starts another shell.
func TestShellKilled(t *testing.T) {
	l := device(t)
	r := open(t, l)
	read(t, r)
	if err := unix.Kill(shellOf(t, l.Server()), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context()); !errors.Is(err, commands.ErrLost) {
		t.Errorf("%v: a reading of a shell that was killed", err)
	}
	read(t, r)
	if got := processesOf(t, l, r); got != 2 {
		t.Errorf("with another shell a reading starts %d processes, want 2", got)
	}
}

// shellOf returns the process of the only session of a server: the last one of its descendants.
func shellOf(t *testing.T, pid int) int {
	t.Helper()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
		if err != nil {
			t.Fatal(err)
		}
		children := strings.Fields(string(text))
		if len(children) == 0 {
			break
		}
		if pid, err = strconv.Atoi(children[len(children)-1]); err != nil {
			t.Fatal(err)
		}
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || strings.TrimSpace(string(name)) != "sh" {
		t.Fatalf("process %d is %q, want a shell: %v", pid, name, err)
	}
	return pid
}

// withProgram starts a server whose shell finds a program of a test first, and returns the path of the program.
func withProgram(t *testing.T, name, text string) (*sshrouter.Router, string) {
	t.Helper()
	namespacetest.Enter(t)
	run(t, "ip link set lo up")
	folder := t.TempDir()
	program := filepath.Join(folder, name)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return sshrouter.Serve(t, "env PATH="+folder+`:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$SSH_ORIGINAL_COMMAND"`), program
}

// TestHangingCommand has a program of the device hang: the reading ends with its context, and the next one is answered by
// another shell.
func TestHangingCommand(t *testing.T) {
	hangs := filepath.Join(t.TempDir(), "hangs")
	s, program := withProgram(t, "tc", "echo >"+hangs+"; exec sleep infinity")
	r := open(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(hangs); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: a reading whose program hangs", err)
	}
	if _, err := os.Stat(hangs); err != nil {
		t.Errorf("the program did not start: %v", err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	read(t, r)
}

// TestEndlessAnswer has a program of the device print without end: the reading fails, and the next one is answered by
// another shell.
func TestEndlessAnswer(t *testing.T) {
	s, program := withProgram(t, "tc", "exec yes")
	r := open(t, s)
	if _, err := r.Read(t.Context()); !errors.Is(err, commands.ErrTooLong) {
		t.Errorf("%v, want %v", err, commands.ErrTooLong)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	read(t, r)
}

// TestNoShell refuses servers whose program prints something else than an answer, or ends.
func TestNoShell(t *testing.T) {
	namespacetest.Enter(t)
	run(t, "ip link set lo up")
	for program, want := range map[string]string{
		"/bin/cat":     "want a user whose shell runs commands",
		"/usr/bin/yes": "want a user whose shell runs commands",
		"/bin/false":   commands.ErrLost.Error(),
	} {
		r := open(t, sshrouter.Serve(t, program))
		for range 2 { // The next reading finds the same.
			if _, err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", program, err, want)
			}
		}
	}
}

// TestInputOfPrograms has a program of the device read its input: it finds none, and the shell reads on.
func TestInputOfPrograms(t *testing.T) {
	s, _ := withProgram(t, "tc", "exec cat")
	r := open(t, s)
	read(t, r)
	read(t, r)
}
