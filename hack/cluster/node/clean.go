package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checkClean lists what the cluster left on the machine: processes, mounts,
// network interfaces, cgroups, files, priorities of the kernel's threads. It fails if there is anything.
func (c *cluster) checkClean() error {
	r, err := c.state.readRecord()
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{}
	}
	var left []string
	l := leftovers{state: c.state, group: c.group, record: r}
	for _, check := range []func() ([]string, error){l.processes, l.mounts, l.inMachine, l.cgroups, l.stateDirs, l.priorities} {
		found, err := check()
		if err != nil {
			return err
		}
		left = append(left, found...)
	}
	if len(left) > 0 {
		return fmt.Errorf("the cluster left on this machine:\n  %s", strings.Join(left, "\n  "))
	}
	fmt.Println("nothing of the cluster is left: no process, mount, interface, cgroup, file or priority")
	return nil
}

// leftovers finds what a cluster left on the machine.
type leftovers struct {
	state stateDir
	group cgroup
	// record is empty where no cluster was ever started.
	record *record
}

// processes lists the remaining processes that are in a namespace of the node's or were
// started from or for its files.
func (l leftovers) processes() ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var left []string
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if found := l.ofNode(pid); found != "" {
			left = append(left, fmt.Sprintf("process %d (%s)", pid, found))
		}
	}
	return left, nil
}

// ofNode returns the reason why a process belongs to the cluster, or "". Processes come and
// end while they are read, so unreadable files are ignored.
func (l leftovers) ofNode(pid int) string {
	found, err := namespaces(pid)
	if err != nil {
		return ""
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	command := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	for _, name := range found {
		if slices.Contains(l.record.Namespaces, name) {
			return "in " + name + ": " + command
		}
	}
	group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if strings.Contains(string(group), "/"+string(l.group)) {
		return "in cgroup " + string(l.group) + ": " + command
	}
	return ""
}

// mounts are mounts of the cluster's files, and mounts that keep one of its
// namespaces alive.
func (l leftovers) mounts() ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	marks := append([]string{string(l.state) + "/", string(l.state) + " ", string(l.group)}, l.record.Namespaces...)
	var left []string
	for line := range strings.Lines(string(table)) {
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(line, mark) }) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	return left, nil
}

// inMachine are interfaces, files and folders that were not there before.
func (l leftovers) inMachine() ([]string, error) {
	if l.record.Entries == nil {
		return nil, nil // no cluster was started, so there is nothing to compare with
	}
	interfaces, entries, err := inventory()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, name := range interfaces {
		if !slices.Contains(l.record.Interfaces, name) {
			left = append(left, "network interface "+name)
		}
	}
	for _, name := range entries {
		if !slices.Contains(l.record.Entries, name) {
			left = append(left, name)
		}
	}
	return left, nil
}

// cgroups are the remaining cgroups.
func (l leftovers) cgroups() ([]string, error) {
	groups, err := l.group.list()
	for i := range groups {
		groups[i] = "cgroup " + groups[i]
	}
	return groups, err
}

// stateDirs is the state folder, if it is still there.
func (l leftovers) stateDirs() ([]string, error) {
	left, err := filepath.Glob(string(l.state))
	for i := range left {
		left[i] = "state " + left[i]
	}
	return left, err
}

// priorities are the threads whose priority is still that of a cluster.
func (l leftovers) priorities() ([]string, error) {
	var left []string
	for _, t := range l.record.Preferred {
		if now, ok := kernelThread(t.PID); ok && now.Name == t.Name && now.Nice == mostPreferred {
			left = append(left, fmt.Sprintf("priority of the kernel's thread %s (was %d)", t.Name, t.Nice))
		}
	}
	return left, nil
}
