package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mostPreferred is the nice value with the largest share of a processor.
const mostPreferred = -20

// devicePorts is the number of ports of the devices of the samples, and the maximum number of
// processors of a device.
const devicePorts = 2

// thread is a thread of the kernel whose priority was changed, and its nice value before.
type thread struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Nice int    `json:"nice"`
}

// softInterrupts are the threads that do the soft interrupts of virtual devices where the
// kernel does not do them before all processes. The cluster has the same processors, so that
// the threads would take turns with its processes, and the device would lose frames. They
// are those of the last processors, half of them, as "nodrop device up" splits them. There
// are none in a container that does not see the kernel's threads.
func softInterrupts() ([]thread, error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, fmt.Errorf("asking for the processors: %w", err)
	}
	devices := min(may.Count()/2, devicePorts)
	names := map[string]bool{}
	for cpu := len(may)*strconv.IntSize - 1; cpu >= 0 && len(names) < devices; cpu-- {
		if may.IsSet(cpu) {
			names[fmt.Sprintf("ksoftirqd/%d", cpu)] = true
		}
	}
	return kernelThreads(func(t thread) bool { return names[t.Name] && t.Nice != mostPreferred })
}

// kernelThreads are some threads of the kernel.
func kernelThreads(which func(thread) bool) ([]thread, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var threads []thread
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if t, ok := kernelThread(pid); ok && which(t) {
			threads = append(threads, t)
		}
	}
	return threads, nil
}

// kernelThread reads a thread of the kernel; false for other processes.
func kernelThread(pid int) (thread, bool) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return thread{}, false // it ended
	}
	if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); !errors.Is(err, os.ErrNotExist) {
		return thread{}, false
	}
	value, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	// The system call returns 20 less the nice value.
	return thread{pid, strings.TrimSpace(string(name)), 20 - value}, err == nil
}

// prefer gives threads the highest priority of ordinary processes, where that is allowed: a
// cluster without it works as well, with a slower device.
func prefer(threads []thread) error {
	for _, t := range threads {
		switch err := unix.Setpriority(unix.PRIO_PROCESS, t.PID, mostPreferred); {
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
			return nil
		case err != nil:
			return fmt.Errorf("setting the priority of %s: %w", t.Name, err)
		}
	}
	return nil
}

// restore sets the priorities as they were. A number that another process has by now, after
// a reboot, is left alone.
func restore(threads []thread) error {
	for _, t := range threads {
		if now, ok := kernelThread(t.PID); !ok || now.Name != t.Name || now.Nice != mostPreferred {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, t.PID, t.Nice); err != nil {
			return fmt.Errorf("setting the priority of %s back to %d: %w", t.Name, t.Nice, err)
		}
	}
	return nil
}
