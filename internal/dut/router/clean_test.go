package router

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/runfolder"
)

// What a process that was killed left of a router is removed; that of a living one stays.
// It runs alone: a process that another test starts has each lock until it executes its
// program.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	living, err := newFolder(dir, FRR)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = living.Remove() })
	dead, err := newFolder(dir, BIRD)
	if err != nil {
		t.Fatal(err)
	}
	// A process of it whose number is in the folder, and another of the same number.
	own := exec.Command("/bin/sh", "-c", "read x; true", dead.Path+"/bird.conf")
	in, err := own.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Process.Kill() }()
	// A process has its arguments a moment after it started.
	for line := []byte{}; len(line) == 0; {
		if line, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", own.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	for file, pid := range map[string]int{"bird.pid": own.Process.Pid, "other.pid": os.Getpid()} {
		if err := os.WriteFile(filepath.Join(dead.Path, file), []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.Release(); err != nil {
		t.Fatal(err)
	}

	cleaned, err := Clean(dir)
	if err != nil || cleaned != 1 {
		t.Fatalf("%d cleaned, %v", cleaned, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- own.Wait() }()
	select {
	case err := <-ended:
		if own.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the process of the router lives")
	}
	if _, err := os.Stat(dead.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(living.Path); err != nil {
		t.Errorf("the folder of a living process: %v", err)
	}
	if held, err := runfolder.Held(living.Path); !held || err != nil {
		t.Errorf("the lock of a living process: %v, %v", held, err)
	}
}
