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

	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// server is Debian's OpenSSH server.
type server struct {
	// program and libraries are its path, and the folders of its libraries as LD_LIBRARY_PATH has them.
	program, libraries string
	// sessions is the path of the program that serves a session; empty for versions in which it is the same program.
	sessions string
}

// Access returns how the server of the device is reached.
func (d *device) Access() sshaccess.Config {
	return sshaccess.Config{Address: d.Address, User: User, Password: Password, HostKeys: d.HostKey}
}

// opensshServer returns Debian's OpenSSH server, without which it skips the test.
func opensshServer(t testing.TB) server {
	t.Helper()
	const program = "/usr/sbin/sshd"
	s := server{program: testserver.Binary(t, "openssh"+program, "OpenSSH server", "hack/openssh/build")}
	root := strings.TrimSuffix(s.program, program)
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	s.libraries = strings.Join(libraries, ":")
	sessions := filepath.Join(root, "usr/lib/openssh/sshd-session") // A program of its own in later versions.
	if _, err := os.Stat(sessions); err == nil {
		s.sessions = sessions
	}
	return s
}

// writeConfig writes the configuration of a server with one command at an address into a folder, which the server will find at
// another path, and sets the host key of the device.
func (d *device) writeConfig(s server, address, command, folder, found string) {
	d.t.Helper()
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
	host, port, _ := net.SplitHostPort(address)
	config := fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s/key\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\nPidFile none\nMaxStartups 100\nSubsystem netconf /bin/false\nForceCommand %s\n",
		host, port, found, command)
	if s.sessions != "" {
		config += "SshdSessionPath " + s.sessions + "\n"
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
}

// serve starts an OpenSSH server with one command. Its users and passwords are in a mount
// namespace.
func (d *device) serve(host, command string) {
	d.t.Helper()
	s := opensshServer(d.t)
	address, folder := testserver.FreeAddressOf(d.t, host), d.t.TempDir()
	d.writeConfig(s, address, command, folder, folder)
	cmd := d.start("sshd", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", fmt.Sprintf(
		"mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && "+
			"LD_LIBRARY_PATH=%[2]s exec %[3]s -D -e -f %[1]s/config", folder, s.libraries, s.program))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			d.Address, d.server = address, childOf(d.t, cmd.Process.Pid)
			return
		} else if time.Now().After(deadline) {
			d.t.Fatalf("OpenSSH does not answer: %v", err)
		}
	}
}

// Server returns the process of the OpenSSH server.
func (d *device) Server() int { return d.server }

// Processes returns the number of processes that the OpenSSH server and its descendants have started so far, with one that
// Processes starts.
func (d *device) Processes() int {
	d.t.Helper()
	text := d.output(exec.Command("nsenter", "--pid", "--target", strconv.Itoa(d.server), "sh", "-c", "echo $$"))
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}
