package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TestHook moves a veth into a pod and back: after the pod has ended, when a
// container of it starts again, and when it gets another network namespace.
func TestHook(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	t.Run("back from a pod that has ended", func(t *testing.T) {
		n := newNode(t)
		pod := n.startPod(t)
		n.attach(t, pod, "p1")
		pod.end(t)
		n.takeBack(t)
	})
	t.Run("a container starts again", func(t *testing.T) {
		n := newNode(t)
		pod := n.startPod(t)
		n.attach(t, pod, "p1")
		n.attach(t, pod, "p1")
		n.takeBack(t)
	})
	t.Run("another network namespace", func(t *testing.T) {
		n := newNode(t)
		pod := n.startPod(t)
		n.attach(t, pod, "p1")
		pod.end(t)
		n.attach(t, n.startPod(t), "p1")
		n.takeBack(t)
	})
	t.Run("no such interface", func(t *testing.T) {
		n := newNode(t)
		pod := n.startPod(t)
		if err := hook(pod.state(), "nd-none", n.held); err == nil || !strings.Contains(err.Error(), "nd-none") {
			t.Errorf("error %v, want one that names nd-none", err)
		}
		n.attach(t, pod, "p1")
		n.takeBack(t)
	})
	t.Run("nothing is held", func(t *testing.T) {
		if err := takeBack(filepath.Join(t.TempDir(), "claim")); err != nil {
			t.Error(err)
		}
	})
}

// node is a network and a mount namespace of the test's own, with a veth nd-t1.
type node struct{ held string }

func newNode(t *testing.T) *node {
	t.Helper()
	// Never unlocked: the thread, and its namespaces with it, end with the test.
	runtime.LockOSThread()
	must(t, unix.Unshare(unix.CLONE_NEWNET|unix.CLONE_NEWNS))
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nd-t1"}, PeerName: "nd-t2"}))
	return &node{held: filepath.Join(t.TempDir(), "claim", "nd-t1=p1")}
}

// attach runs the hook for a container of the pod.
func (n *node) attach(t *testing.T, pod *pod, name string) {
	t.Helper()
	must(t, hook(pod.state(), "nd-t1", n.held))
	handle, err := netns.GetFromPid(pod.process.Process.Pid)
	must(t, err)
	defer handle.Close()
	there, err := netlink.NewHandleAt(handle, unix.NETLINK_ROUTE)
	must(t, err)
	defer there.Close()
	if links := names(t, there.LinkList); !slices.Contains(links, name) {
		t.Errorf("the pod has %v, want %s", links, name)
	}
	if links := names(t, netlink.LinkList); slices.Contains(links, "nd-t1") {
		t.Errorf("the node has %v, and should not have nd-t1", links)
	}
}

func (n *node) takeBack(t *testing.T) {
	t.Helper()
	must(t, takeBack(filepath.Dir(n.held)))
	if links := names(t, netlink.LinkList); !slices.Contains(links, "nd-t1") {
		t.Errorf("the node has %v, want nd-t1", links)
	}
	if _, err := os.Stat(filepath.Dir(n.held)); err == nil {
		t.Errorf("%s is left", filepath.Dir(n.held))
	}
}

// pod is a process in a network namespace of its own.
type pod struct{ process *exec.Cmd }

func (n *node) startPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{exec.Command("sleep", "infinity")}
	p.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	must(t, p.process.Start())
	t.Cleanup(func() { p.end(t) })
	return p
}

func (p *pod) end(t *testing.T) {
	if p.process.ProcessState != nil {
		return // it has ended already
	}
	must(t, p.process.Process.Kill())
	_ = p.process.Wait() // says that it was killed
}

// state returns the state that the runtime passes to a hook.
func (p *pod) state() *strings.Reader {
	return strings.NewReader(fmt.Sprintf(`{"ociVersion": "1.2.0", "pid": %d}`, p.process.Process.Pid))
}

func names(t *testing.T, list func() ([]netlink.Link, error)) []string {
	t.Helper()
	links, err := list()
	must(t, err)
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
