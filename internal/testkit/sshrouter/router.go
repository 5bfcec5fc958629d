package sshrouter

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// User and Password of the device, and the hash of the password.
const (
	User         = "lab"
	Password     = "testing"
	passwordHash = "$6$nodrop$szKzqO4QP/.Yx.PO0gxxcRwim0XuavQt2PZYHcOXlYDoCBLibFdO71ZLiaI8kMmIsBto8X2z3XaMp6IVBAPe90" //nolint:gosec // Of the password above.
)

// Router is FRR in a network namespace of its own, whose shell is reached through OpenSSH on the loopback.
type Router struct {
	// Address of the OpenSSH server, and its host key as a line of a .pub file.
	Address string
	HostKey []byte

	t      testing.TB
	folder string
	// pid is the first process in the router's namespaces.
	pid int
}

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
	r := &Router{t: t, folder: folder}
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

// Cable makes an interface of this network namespace that is cabled to a new one of the router, which
// forwards.
func (r *Router) Cable(here, there string) {
	r.t.Helper()
	pid := strconv.Itoa(r.pid)
	within := []string{"nsenter", "--net", "--target", pid}
	for _, command := range [][]string{
		{"ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", pid},
		append(within, "ip", "link", "set", there, "up"),
		append(within, "ethtool", "-K", there, "gro", "on"), // With it a veth takes frames from an XDP program.
		append(within, "sysctl", "-qw", "net.ipv4.ip_forward=1"),
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			r.t.Fatalf("%q: %v: %s", command, err, out)
		}
	}
	r.t.Cleanup(func() { _ = exec.Command("ip", "link", "del", here).Run() }) // It may have gone with the router.
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

// start starts a program that ends with the test, in the network namespace of the calling thread.
func (r *Router) start(what string, args ...string) *exec.Cmd {
	r.t.Helper()
	log, err := os.Create(filepath.Join(r.folder, what+".out"))
	if err != nil {
		r.t.Fatal(err)
	}
	here := fmt.Sprintf("--net=/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
	cmd := exec.Command("nsenter", append([]string{here}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := testserver.Launch(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // And unshare's child with it.
		<-ended
		_ = log.Close()
		if r.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			r.t.Logf("%s: %s", what, text)
		}
	})
	return cmd
}

// Serve starts an OpenSSH server whose only command is a program, until the test ends: a device that is no
// router.
func Serve(t testing.TB, program string) *Router {
	t.Helper()
	r := &Router{t: t, folder: t.TempDir()}
	r.serve("127.0.0.1", program)
	return r
}

// serve starts an OpenSSH server with one command. Its users and passwords are in a mount
// namespace.
func (r *Router) serve(host, command string) {
	r.t.Helper()
	const program = "/usr/sbin/sshd"
	server := testserver.Binary(r.t, "openssh"+program, "OpenSSH server", "hack/openssh/build")
	root := strings.TrimSuffix(server, program)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		r.t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		r.t.Fatal(err)
	}
	r.HostKey = ssh.MarshalAuthorizedKey(signer.PublicKey())
	address := testserver.FreeAddressOf(r.t, host)
	_, port, _ := net.SplitHostPort(address)
	folder := r.t.TempDir()
	sessions := filepath.Join(root, "usr/lib/openssh/sshd-session") // A program of its own in later versions.
	config := fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s/key\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\nPidFile none\nMaxStartups 100\nForceCommand %s\n",
		host, port, folder, command)
	if _, err := os.Stat(sessions); err == nil {
		config += "SshdSessionPath " + sessions + "\n"
	}
	for name, content := range map[string]string{
		"key": string(pem.EncodeToMemory(block)), "config": config,
		"passwd": "root:x:0:0::/:/bin/sh\n" + User + ":x:0:0::/:/bin/sh\nsshd:x:65534:65534::/:/bin/false\n",
		"shadow": "root:*:1::::::\n" + User + ":" + passwordHash + ":1::::::\nsshd:*:1::::::\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	r.start("sshd", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", fmt.Sprintf(
		"mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && "+
			"LD_LIBRARY_PATH=%[2]s exec %[3]s -D -e -f %[1]s/config", folder, strings.Join(libraries, ":"), server))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			r.Address = address
			return
		} else if time.Now().After(deadline) {
			r.t.Fatalf("OpenSSH does not answer: %v", err)
		}
	}
}
