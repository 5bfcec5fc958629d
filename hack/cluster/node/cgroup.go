package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

// cgroup is the name of the cluster's cgroup, which exists in every cgroup tree. Two clones of
// the repository do not share one.
type cgroup string

// hierarchies are the cgroup trees of this machine: one under version 2, one
// per controller under version 1.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, fmt.Errorf("reading the cgroup trees: %w", err)
	}
	var roots []string
	for _, entry := range entries {
		if entry.IsDir() { // symlinks in the folder are other names of them
			roots = append(roots, filepath.Join(cgroupRoot, entry.Name()))
		}
	}
	return roots, nil
}

// make makes the cgroup that all pods and devices of the cluster run under.
func (g cgroup) make() error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if roots[0] == cgroupRoot {
			// Version 2: the kubelet wants these on its root. The one that a
			// kernel lacks is refused alone, so they are written one by one.
			for _, controller := range []string{"cpu", "cpuset", "memory", "pids", "io"} {
				_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
			}
		}
		group := filepath.Join(root, string(g))
		if err := os.MkdirAll(group, 0o755); err != nil {
			return fmt.Errorf("making the cluster's cgroup: %w", err)
		}
		// Under version 1 a new cpuset is empty and takes no process.
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(group, name), value, 0o644); err != nil {
				return fmt.Errorf("filling the cluster's cpuset: %w", err)
			}
		}
	}
	return nil
}

// remove removes the cluster's cgroups. The kernel releases a killed
// process a moment after its parent saw it die, so busy ones are tried again.
func (g cgroup) remove() error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := g.tryRemove()
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// tryRemove removes the cgroups once.
func (g cgroup) tryRemove() error {
	groups, err := g.list()
	if err != nil {
		return err
	}
	for i := len(groups) - 1; i >= 0; i-- { // children before parents
		if err := syscall.Rmdir(groups[i]); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("removing cgroup %s: %w", groups[i], err)
		}
	}
	return nil
}

// list lists the cluster's cgroups, parents before children.
func (g cgroup) list() ([]string, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(root, string(g)), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
				return nil // gone meanwhile, or never made
			}
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the cluster's cgroups: %w", err)
		}
	}
	return groups, nil
}
