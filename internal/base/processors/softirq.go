package processors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnseen is wrapped where the kernel's threads are not in this PID namespace.
var ErrUnseen = errors.New("the kernel's threads cannot be seen from this PID namespace")

// mostPreferred is the nice value with the largest share of a processor.
const mostPreferred = -20

// PreferSoftInterrupts lets a processor's soft interrupts come before its processes also
// where the kernel leaves them to its thread ksoftirqd, which otherwise takes turns with
// the processes. undo sets the thread's priority as it was. It needs CAP_SYS_NICE and the
// first PID namespace, and fails with ErrUnseen in another one. A process that is killed
// leaves the thread preferred.
func PreferSoftInterrupts(processor int) (undo func() error, _ error) {
	name := fmt.Sprintf("ksoftirqd/%d", processor)
	thread, err := kernelThread(name)
	if err != nil {
		return nil, err
	}
	was, err := nice(thread)
	if err != nil {
		return nil, fmt.Errorf("asking for the priority of %s: %w", name, err)
	}
	if was == mostPreferred { // it stays so, or another run sets it back
		return func() error { return nil }, nil
	}
	set := func(value int) error {
		if err := unix.Setpriority(unix.PRIO_PROCESS, thread, value); err != nil {
			return fmt.Errorf("setting the priority of %s to %d: %w", name, value, err)
		}
		return nil
	}
	return func() error { return set(was) }, set(mostPreferred)
}

// nice is the nice value of a thread: the system call returns 20 less that.
func nice(thread int) (int, error) {
	value, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	return 20 - value, err
}

// kernelThread is the number of a thread of the kernel.
func kernelThread(name string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil || strings.TrimSuffix(string(text), "\n") != name {
			continue // it may have ended
		}
		// A process may have the name too, but has a program.
		if _, err := os.Readlink(filepath.Join(filepath.Dir(file), "exe")); errors.Is(err, fs.ErrNotExist) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("looking for %s: %w", name, ErrUnseen)
}
