package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// record contains the state of the machine that "up" saw and made, for "down" and check-clean.
type record struct {
	// Init is the node's process 1, as the machine numbers it.
	Init process `json:"init"`
	// Namespaces are the node's, as the kernel names them: net:[4026532201].
	Namespaces []string `json:"namespaces"`
	// Interfaces and Entries are the network interfaces that the machine had before, and the
	// content of the folders that daemons write to.
	Interfaces []string `json:"interfaces"`
	Entries    []string `json:"entries"`
	// Preferred are the threads of the kernel whose priority "up" changed.
	Preferred []thread `json:"preferred,omitempty"`
}

// watchedDirs are the folders of the machine in which the daemons leave things
// by default.
var watchedDirs = []string{
	"/run", "/etc", "/etc/cni", "/etc/docker", "/opt", "/opt/cni", "/usr/libexec", "/usr/libexec/kubernetes",
	"/var/lib", "/var/lib/kubelet", "/var/log",
}

// inventory reads what of the machine a record keeps.
func inventory() (interfaces, entries []string, err error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the machine's interfaces: %w", err)
	}
	for _, link := range links {
		interfaces = append(interfaces, link.Name)
	}
	for _, dir := range watchedDirs {
		found, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		for _, entry := range found {
			entries = append(entries, filepath.Join(dir, entry.Name()))
		}
	}
	return interfaces, entries, nil
}

// process names a process for good: numbers are used again, start times are not.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // clock ticks after boot
}

func findProcess(pid int) (process, error) {
	_, start, err := processState(pid)
	return process{pid, start}, err
}

// running reports whether the process still runs; a zombie does not.
func (p process) running() bool {
	if p.PID == 0 {
		return false
	}
	state, start, err := processState(p.PID)
	return err == nil && start == p.Start && state != "Z" && state != "X"
}

func processState(pid int) (state, start string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	// The second field is the program's name in brackets, with anything in it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0], fields[19], nil
}

// namespaces of a process, those that "up" makes.
func namespaces(pid int) ([]string, error) {
	var names []string
	for _, kind := range []string{"pid", "mnt", "net", "uts", "ipc"} {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err != nil {
			return nil, fmt.Errorf("reading the node's namespaces: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}
