package hostdevice

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDyingProcessesAreKnown(t *testing.T) {
	if dying(os.Getpid()) {
		t.Error("this process lives")
	}
	if !dying(1 << 30) {
		t.Error("a process that does not exist is dead")
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	p, err := os.StartProcess("/bin/cat", []string{"cat"}, &os.ProcAttr{Files: []*os.File{read, os.Stderr, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	if dying(p.Pid) {
		t.Error("a process that reads lives")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if !dying(p.Pid) {
		t.Error("a process that was killed is dying")
	}
	if err := awaitEnd(p.Pid); err != nil {
		t.Error(err)
	}
	// It has ended, and its exit code has not been read.
	if err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !dying(p.Pid) {
		t.Error("a process that has ended is dead")
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}
