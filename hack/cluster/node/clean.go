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
	r, err := c.readRecord()
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{}
	}
	var left []string
	for _, check := range []func(*record) ([]string, error){
		c.leftProcesses, c.leftMounts, c.leftInMachine, c.leftCgroups, c.leftState, c.leftPriorities,
	} {
		found, err := check(r)
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

// leftProcesses lists the remaining processes that are in a namespace of the node's or were
// started from or for its files.
func (c *cluster) leftProcesses(r *record) ([]string, error) {
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
		if found := c.ofNode(pid, r); found != "" {
			left = append(left, fmt.Sprintf("process %d (%s)", pid, found))
		}
	}
	return left, nil
}

// ofNode returns the reason why a process belongs to the cluster, or "". Processes come and
// end while they are read, so unreadable files are ignored.
func (c *cluster) ofNode(pid int, r *record) string {
	found, err := namespaces(pid)
	if err != nil {
		return ""
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	command := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	for _, name := range found {
		if slices.Contains(r.Namespaces, name) {
			return "in " + name + ": " + command
		}
	}
	group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if strings.Contains(string(group), "/"+c.group) {
		return "in cgroup " + c.group + ": " + command
	}
	return ""
}

// leftMounts are mounts of the cluster's files, and mounts that keep one of its
// namespaces alive.
func (c *cluster) leftMounts(r *record) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	marks := append([]string{c.state + "/", c.state + " ", c.group}, r.Namespaces...)
	var left []string
	for line := range strings.Lines(string(table)) {
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(line, mark) }) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	return left, nil
}

// leftInMachine are interfaces, files and folders that were not there before.
func (c *cluster) leftInMachine(r *record) ([]string, error) {
	if r.Entries == nil {
		return nil, nil // no cluster was started, so there is nothing to compare with
	}
	interfaces, entries, err := inventory()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, name := range interfaces {
		if !slices.Contains(r.Interfaces, name) {
			left = append(left, "network interface "+name)
		}
	}
	for _, name := range entries {
		if !slices.Contains(r.Entries, name) {
			left = append(left, name)
		}
	}
	return left, nil
}

func (c *cluster) leftCgroups(*record) ([]string, error) {
	groups, err := c.cgroups()
	for i := range groups {
		groups[i] = "cgroup " + groups[i]
	}
	return groups, err
}

func (c *cluster) leftState(*record) ([]string, error) {
	left, err := filepath.Glob(c.state)
	for i := range left {
		left[i] = "state " + left[i]
	}
	return left, err
}
