package sshrouter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Router is FRR in a network namespace of its own, whose shell is reached through OpenSSH.
type Router struct{ device }

// Start starts FRR, with an interface, a route and a neighbor, until the test ends. It skips the test
// without the rights for that.
func Start(t testing.TB) *Router {
	t.Helper()
	return StartAt(t, "127.0.0.1")
}

// StartAt is Start with an OpenSSH server at an address of this machine.
func StartAt(t testing.TB, host string) *Router {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	folder, err := os.MkdirTemp("", "nodrop-frr-") // The daemons run as a user, who may not enter t.TempDir.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Router{device{t: t, folder: folder}}
	script := "mount -t tmpfs none /var/tmp; chown frr:frr " + r.folder + "; ip link set lo up; ip link add p1 type veth peer name p2; ip link set p1 up; ip link set p2 up; "
	for _, name := range []string{"mgmtd", "zebra", "staticd", "bgpd"} {
		daemon := "/usr/lib/frr/" + name
		if _, err := os.Stat(daemon); err != nil {
			continue // mgmtd is of later versions.
		}
		script += fmt.Sprintf("%s --vty_socket %[2]s -z %[2]s/zserv.api -i %[2]s/%[3]s.pid -f %[2]s/none.conf --log file:%[2]s/%[3]s.log -d; ",
			daemon, r.folder, name)
	}
	cmd := r.start("FRR", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script+"exec sleep infinity")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command("vtysh", r.shell("-c", "show running-config")...).CombinedOutput()
		if r.ready(string(out)) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("FRR does not answer: %v: %s", err, out)
		}
	}
	r.Enter("configure terminal", "hostname dut", "ip route 198.18.100.0/24 198.18.1.9", "interface p1", "ip address 198.18.1.1/24", "exit",
		"router bgp 65001", "no bgp ebgp-requires-policy", "neighbor 198.18.1.2 remote-as 65002")
	r.pid = childOf(t, cmd.Process.Pid)
	r.serve(host, "/usr/bin/vtysh "+strings.Join(r.shell(), " "))
	return r
}

// ready reports whether all daemons have answered.
func (r *Router) ready(out string) bool {
	for _, name := range []string{"zebra", "staticd", "bgpd"} {
		if _, err := os.Stat(filepath.Join(r.folder, name+".vty")); err != nil {
			return false
		}
	}
	return strings.Contains(out, "Current configuration")
}

func (r *Router) shell(args ...string) []string {
	return append([]string{"--vty_socket", r.folder}, args...)
}

// Enter enters commands in FRR's shell, not through SSH, and returns the answers.
func (r *Router) Enter(commands ...string) string {
	r.t.Helper()
	var args []string
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	out, err := exec.Command("vtysh", r.shell(args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%q: %v: %s", commands, err, out)
	}
	return string(out)
}

// Running is the configuration as FRR's shell prints it.
func (r *Router) Running() string {
	r.t.Helper()
	return r.Enter("show running-config")
}

// Serve starts an OpenSSH server whose only command is a program, until the test ends: a device that is no
// router.
func Serve(t testing.TB, program string) *Router {
	t.Helper()
	r := &Router{device{t: t, folder: t.TempDir()}}
	r.serve("127.0.0.1", program)
	return r
}
