package sshrouter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// User and Password of the device, and the hash of the password.
const (
	User         = "lab"
	Password     = "testing"
	passwordHash = "$6$nodrop$szKzqO4QP/.Yx.PO0gxxcRwim0XuavQt2PZYHcOXlYDoCBLibFdO71ZLiaI8kMmIsBto8X2z3XaMp6IVBAPe90" //nolint:gosec // Of the password above.
)

// device is a network namespace, or an emulated machine, that is reached through an OpenSSH server.
type device struct {
	// Address of the OpenSSH server, and its host key as a line of a .pub file.
	Address string
	HostKey []byte

	t      testing.TB
	folder string
	// pid is the first process in the namespace.
	pid int
	// server is the first process of the OpenSSH server, which has a PID namespace of its own; 0 in an emulated machine.
	server int
	// environment has variables of programs in the namespace, as name=value.
	environment []string
	// machine is the emulated machine that the device is; nil for a network namespace.
	machine *machine
}

// childOf returns the child of a process that has one.
func childOf(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("the children of process %d: %q", pid, text)
	}
	return child
}

// Cable makes an interface of this network namespace that is cabled to a new one of the device, which
// forwards.
func (d *device) Cable(here, there string) {
	d.t.Helper()
	if d.machine != nil {
		d.plug(here, there)
		return
	}
	d.output(exec.Command("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", strconv.Itoa(d.pid)))
	d.Run("ip", "link", "set", there, "up")
	d.Run("sysctl", "-qw", "net.ipv4.ip_forward=1")
	if err := d.receiveOffload(there); err != nil {
		d.t.Fatalf("%s: %v", there, err)
	}
	d.t.Cleanup(func() { _ = exec.Command("ip", "link", "del", here).Run() }) // It may have gone with the device.
}

// receiveOffload turns generic receive offload of an interface of the device on: with it a veth takes frames from an XDP
// program.
func (d *device) receiveOffload(name string) error {
	ns, err := netns.GetFromPid(d.pid)
	if err != nil {
		return err
	}
	defer ns.Close()
	return netif.In(ns, func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		return tool.Change(name, map[string]bool{"rx-gro": true})
	})
}

// within is a command in the network namespace of the device, not through SSH.
func (d *device) within(args ...string) *exec.Cmd {
	return exec.Command("nsenter", slices.Concat([]string{"--net", "--target", strconv.Itoa(d.pid), "env"}, d.environment, args)...)
}

// Run runs a program in the network namespace of the device, not through SSH, or in the emulated machine, and returns what it
// prints.
func (d *device) Run(args ...string) string {
	d.t.Helper()
	if d.machine != nil {
		return d.runInMachine(args)
	}
	return d.output(d.within(args...))
}

// output runs a command, which must succeed, and returns what it prints.
func (d *device) output(cmd *exec.Cmd) string {
	d.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%q: %v: %s", cmd.Args, err, out)
	}
	return string(out)
}

// start starts a program that ends with the test, in the network namespace of the calling thread.
func (d *device) start(what string, args ...string) *exec.Cmd {
	d.t.Helper()
	log, err := os.Create(filepath.Join(d.folder, what+".out"))
	if err != nil {
		d.t.Fatal(err)
	}
	here := fmt.Sprintf("--net=/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
	cmd := exec.Command("nsenter", append([]string{here}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := testserver.Launch(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill() // And unshare's child with it.
		<-ended
		_ = log.Close()
		if d.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			lines := slices.Collect(strings.Lines(string(text)))
			d.t.Logf("%s: %s", what, strings.Join(lines[max(0, len(lines)-3):], "")) // a few, as the failure is above them
		}
	})
	return cmd
}

// waitFor waits until a program of start has printed a word.
func (d *device) waitFor(what, word string) {
	d.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(d.folder, what+".out"))
		if strings.Contains(string(text), word) {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%s does not answer: %v: %s", what, err, text)
		}
	}
}
