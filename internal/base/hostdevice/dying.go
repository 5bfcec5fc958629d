//go:build linux

package hostdevice

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// dyingTimeout bounds the wait for the end of a process that was killed. The kernel ends
// its lock after it has taken down all else that the process had.
const dyingTimeout = 10 * time.Second

// lockOfDead takes the lock of a run whose process is dead, or is about to be. The error is
// EWOULDBLOCK for one that lives.
func lockOfDead(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	lock, err := lockAt(path, unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return lock, err
	}
	note, reading := readNote(dir)
	if reading != nil || !dying(note.PID) || awaitEnd(note.PID) != nil {
		return nil, err
	}
	return lockAt(path, unix.LOCK_EX|unix.LOCK_NB)
}

// Of the kernel: a process that ends (linux/sched.h), and the bit of SIGKILL in a set.
const (
	exiting = 0x4
	killed  = 1 << (unix.SIGKILL - 1)
)

// dying reports whether a process ends, was killed, or has ended.
func dying(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// After the name in parentheses: state, and six fields on the flags.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return fields[0] == "Z" || err == nil && flags&exiting != 0 || killPending(pid)
}

// killPending reports whether a process was killed, and has not noticed yet.
func killPending(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil && set&killed != 0 {
			return true
		}
	}
	return false
}

// awaitEnd waits until a process has ended.
func awaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(dyingTimeout)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("process %d has not ended for %s", pid, dyingTimeout)
		default:
			return nil
		}
	}
}
