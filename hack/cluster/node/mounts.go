package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mounts are the node's own mounts over the machine's root, with files of the state folder.
type mounts struct {
	state stateDir
}

// make makes the node's own mounts over the machine's root.
func (m mounts) make() error {
	if err := syscall.Sethostname([]byte(nodeName)); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	// Nothing mounted from here on reaches the machine ...
	if err := mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := m.mountKernelViews(); err != nil {
		return err
	}
	if err := m.coverSysctls(); err != nil {
		return err
	}
	if err := mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, dir := range []string{"/run/netns", "/run/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for target, source := range m.coveredDirs() {
		if err := m.cover(target, source); err != nil {
			return fmt.Errorf("covering %s: %w", target, err)
		}
	}
	// ... but what is mounted later does reach the pods that ask for it.
	return mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

// cover lays the folder source over target. Where the machine has no target,
// none is made on its disk: the node gets a parent folder of its own instead,
// with the machine's entries bound into it.
func (m mounts) cover(target, source string) error {
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(target)
		if err := m.replicate(parent); err != nil {
			return err
		}
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
	}
	return mount(source, target, "", syscall.MS_BIND, "")
}

// replicate puts a folder in memory in the place of dir, through which all that
// is in dir is reached as before.
func (m mounts) replicate(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	replica, err := os.MkdirTemp(string(m.state), "replica-")
	if err != nil {
		return err
	}
	if err := mount("tmpfs", replica, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := bindEntry(entry, filepath.Join(dir, entry.Name()), filepath.Join(replica, entry.Name())); err != nil {
			return err
		}
	}
	if err := mount(replica, dir, "", syscall.MS_MOVE, ""); err != nil {
		return err
	}
	return os.Remove(replica)
}

// bindEntry makes target what the folder's entry at source is.
func bindEntry(entry fs.DirEntry, source, target string) error {
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		link, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	case entry.IsDir():
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(target, nil, 0o644); err != nil {
			return err
		}
	}
	return mount(source, target, "", syscall.MS_BIND|syscall.MS_REC, "")
}

// mountKernelViews mounts /proc of the new process namespace and /sys of the
// new network namespace, and puts the cgroup trees back below the latter.
func (m mounts) mountKernelViews() error {
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	kept, err := os.MkdirTemp(string(m.state), "cgroup-")
	if err != nil {
		return err
	}
	if err := mount(cgroupRoot, kept, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	if err := mount(kept, cgroupRoot, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := syscall.Unmount(kept, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", kept, err)
	}
	if err := os.Remove(kept); err != nil {
		return err
	}
	// For programs that pin BPF objects; a kernel may lack it.
	_ = mount("bpf", "/sys/fs/bpf", "bpf", 0, "")
	return nil
}

// coverSysctls lays files over the machine-wide sysctls that the kubelet sets
// to values of its own, so that the machine keeps its values.
func (m mounts) coverSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cover := m.state.file("sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(cover, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(cover, target, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// coveredDirs are the folders whose place programs do not let one choose, with
// the folders of the state that lie over them in the node.
func (m mounts) coveredDirs() map[string]string {
	return map[string]string{
		"/var/lib/kubelet":    m.state.file("kubelet"),
		"/var/lib/cni":        m.state.file("cni", "results"),
		"/var/log/containers": m.state.file("pods"),
	}
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", source, target, err)
	}
	return nil
}
