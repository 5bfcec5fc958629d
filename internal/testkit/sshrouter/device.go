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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"
	"golang.org/x/crypto/ssh"
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

// device is a network namespace that is reached through an OpenSSH server.
type device struct {
	// Address of the OpenSSH server, and its host key as a line of a .pub file.
	Address string
	HostKey []byte

	t      testing.TB
	folder string
	// pid is the first process in the namespace.
	pid int
	// environment has variables of programs in the namespace, as name=value.
	environment []string
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

// Run runs a program in the network namespace of the device, not through SSH, and returns what it prints.
func (d *device) Run(args ...string) string {
	d.t.Helper()
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
			d.t.Logf("%s: %s", what, text)
		}
	})
	return cmd
}

// serve starts an OpenSSH server with one command. Its users and passwords are in a mount
// namespace.
func (d *device) serve(host, command string) {
	d.t.Helper()
	const program = "/usr/sbin/sshd"
	server := testserver.Binary(d.t, "openssh"+program, "OpenSSH server", "hack/openssh/build")
	root := strings.TrimSuffix(server, program)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		d.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		d.t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		d.t.Fatal(err)
	}
	d.HostKey = ssh.MarshalAuthorizedKey(signer.PublicKey())
	address := testserver.FreeAddressOf(d.t, host)
	_, port, _ := net.SplitHostPort(address)
	folder := d.t.TempDir()
	sessions := filepath.Join(root, "usr/lib/openssh/sshd-session") // A program of its own in later versions.
	config := fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s/key\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\nPidFile none\nMaxStartups 100\nSubsystem netconf /bin/false\nForceCommand %s\n",
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
			d.t.Fatal(err)
		}
	}
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	d.start("sshd", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", fmt.Sprintf(
		"mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && "+
			"LD_LIBRARY_PATH=%[2]s exec %[3]s -D -e -f %[1]s/config", folder, strings.Join(libraries, ":"), server))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			d.Address = address
			return
		} else if time.Now().After(deadline) {
			d.t.Fatalf("OpenSSH does not answer: %v", err)
		}
	}
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
