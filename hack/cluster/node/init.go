package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// progressFile is the descriptor on which "node init" reports to "node up" how far
// it is, one line per step; the end of the file means that no more will come.
const progressFile = 3

// init is process 1 of the node. It mounts the file systems and sets up the network of the namespaces that it was
// started in, then keeps the daemons running until it is killed.
func (c *cluster) init() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("\"node init\" is started by \"node up\" only")
	}
	progress := os.NewFile(progressFile, "progress")
	report := func(line string) { _, _ = fmt.Fprintln(progress, line) }
	syscall.CloseOnExec(progressFile)
	if err := os.Setenv("PATH", c.searchPath()); err != nil {
		return err
	}
	if err := c.mountNode(); err != nil {
		return fmt.Errorf("mounting the node's file systems: %w", err)
	}
	report("namespaces")
	if err := c.setUpNetwork(); err != nil {
		return fmt.Errorf("setting up the node's network: %w", err)
	}
	s := newSupervisor(c.file("log"), c.environment())
	for _, d := range c.firstDaemons() {
		if err := s.run(d); err != nil {
			return err
		}
	}
	if err := c.awaitAPIServer(); err != nil {
		return err
	}
	report("Kubernetes API")
	for _, d := range c.laterDaemons() {
		if err := s.run(d); err != nil {
			return err
		}
	}
	if err := progress.Close(); err != nil {
		return err
	}
	select {} // until killed; the supervisor works on
}

// mountNode makes the node's own mounts over the machine's root.
func (c *cluster) mountNode() error {
	if err := syscall.Sethostname([]byte(nodeName)); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	// Nothing mounted from here on reaches the machine ...
	if err := mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := c.mountKernelViews(); err != nil {
		return err
	}
	if err := c.coverSysctls(); err != nil {
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
	for target, source := range c.coveredDirs() {
		if err := c.cover(target, source); err != nil {
			return fmt.Errorf("covering %s: %w", target, err)
		}
	}
	// ... but what is mounted later does reach the pods that ask for it.
	return mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

// cover lays the folder source over target. Where the machine has no target,
// none is made on its disk: the node gets a parent folder of its own instead,
// with the machine's entries bound into it.
func (c *cluster) cover(target, source string) error {
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(target)
		if err := c.replicate(parent); err != nil {
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
func (c *cluster) replicate(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	replica, err := os.MkdirTemp(c.state, "replica-")
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
func (c *cluster) mountKernelViews() error {
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	kept, err := os.MkdirTemp(c.state, "cgroup-")
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
func (c *cluster) coverSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cover := c.file("sysctl", strings.ReplaceAll(name, "/", "."))
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
func (c *cluster) coveredDirs() map[string]string {
	return map[string]string{
		"/var/lib/kubelet":    c.file("kubelet"),
		"/var/lib/cni":        c.file("cni", "results"),
		"/var/log/containers": c.file("pods"),
	}
}

// setUpNetwork assigns the node an address on a dummy link: there is
// no way out of the node, and none in.
func (c *cluster) setUpNetwork() error {
	for _, line := range []string{
		"link set lo up",
		"link add node0 type veth peer name node0-end", // a pair, so that the link is up
		"address add " + nodeIP + "/24 dev node0",
		"link set node0 up",
		"link set node0-end up",
		// kube-proxy rewrites Service addresses after routing: they need a route.
		"route add " + serviceRange + " dev node0",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	for name, value := range map[string]string{
		"ipv4/ip_forward": "1", "ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", source, target, err)
	}
	return nil
}
