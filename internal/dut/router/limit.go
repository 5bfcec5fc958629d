//go:build linux

package router

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The mount points of cgroups: that of version 2, and that of the memory controller of
// version 1.
const (
	cgroup2 = "/sys/fs/cgroup"
	cgroup1 = "/sys/fs/cgroup/memory"
)

// limit is a cgroup that bounds the memory of a router. A nil limit bounds nothing.
type limit struct {
	path  string
	bytes int64
}

// newLimit makes a cgroup for the router with the files in a folder.
func newLimit(folder string, bytes int64) (*limit, error) {
	l := leftLimit(folder)
	if l == nil {
		return nil, errors.New("limiting the memory of the router: there is no memory controller of cgroups here")
	}
	l.bytes = bytes
	if err := os.Mkdir(l.path, 0o755); err != nil {
		return nil, fmt.Errorf("limiting the memory of the router: %w", err)
	}
	file := "memory.max"
	if l.old() {
		file = "memory.limit_in_bytes"
	}
	if err := os.WriteFile(filepath.Join(l.path, file), []byte(strconv.FormatInt(bytes, 10)), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("limiting the memory of the router to %d bytes: %w", bytes, err), l.remove())
	}
	// Memory that is swapped out counts, too. Kernels without swap lack the files.
	for file, value := range map[string]string{"memory.swap.max": "0", "memory.memsw.limit_in_bytes": strconv.FormatInt(bytes, 10)} {
		_ = os.WriteFile(filepath.Join(l.path, file), []byte(value), 0)
	}
	return l, nil
}

// leftLimit is the cgroup of a folder, which need not exist; nil where cgroups bound no
// memory.
func leftLimit(folder string) *limit {
	name := "nodrop-" + filepath.Base(folder)
	if controllers, err := os.ReadFile(cgroup2 + "/cgroup.controllers"); err == nil && strings.Contains(string(controllers), "memory") {
		return &limit{path: filepath.Join(cgroup2, name)}
	}
	if _, err := os.Stat(cgroup1 + "/memory.limit_in_bytes"); err == nil {
		return &limit{path: filepath.Join(cgroup1, name)}
	}
	return nil
}

// old reports whether the cgroup is of version 1.
func (l *limit) old() bool { return filepath.Dir(l.path) == cgroup1 }

// add moves a process into the cgroup.
func (l *limit) add(pid int) error {
	if l == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(l.path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("limiting the memory of process %d: %w", pid, err)
	}
	return nil
}

// reached returns a message if the kernel ended a process since the limit was reached; empty
// if it did not.
func (l *limit) reached() string {
	if l == nil {
		return ""
	}
	file := "memory.events"
	if l.old() {
		file = "memory.oom_control"
	}
	text, err := os.ReadFile(filepath.Join(l.path, file))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if kills, found := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); found && kills != "0" {
			return fmt.Sprintf("the router reached its memory limit of %d MiB", l.bytes>>20)
		}
	}
	return ""
}

// remove removes the cgroup, whose processes have ended or are about to.
func (l *limit) remove() error {
	if l == nil {
		return nil
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		err := os.Remove(l.path)
		switch {
		case err == nil || errors.Is(err, os.ErrNotExist):
			return nil
		case !errors.Is(err, unix.EBUSY) || time.Since(begin) > stopTime:
			return fmt.Errorf("removing the memory limit of a router: %w", err)
		}
	}
}
