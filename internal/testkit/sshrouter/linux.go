package sshrouter

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Linux is a network namespace whose packet filter nft configures, which is reached through OpenSSH.
type Linux struct{ device }

// StartLinux starts such a device without rules, until the test ends. It skips the test without the rights
// for that.
func StartLinux(t testing.TB) *Linux {
	t.Helper()
	return StartLinuxAt(t, "127.0.0.1")
}

// StartLinuxAt is StartLinux with an OpenSSH server at an address of this machine.
func StartLinuxAt(t testing.TB, host string) *Linux {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	l := &Linux{device{t: t, folder: t.TempDir()}}
	l.startNamespace()
	l.serveShell(host)
	return l
}

// startNamespace starts a process in a new network namespace.
func (l *Linux) startNamespace() {
	l.t.Helper()
	cmd := l.start("linux", "unshare", "--net", "--fork", "--kill-child", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity")
	l.waitFor("linux", "up")
	l.pid = childOf(l.t, cmd.Process.Pid)
}

// PacketFilter is the packet filter of the router's namespace, behind an OpenSSH server of its own.
func (r *Router) PacketFilter(host string) *Linux {
	l := &Linux{device{t: r.t, folder: r.t.TempDir(), pid: r.pid}}
	l.serveShell(host)
	return l
}

// serveShell starts an OpenSSH server that runs commands in the namespace.
func (l *Linux) serveShell(host string) {
	l.t.Helper()
	l.serve(host, `nsenter --net --target `+strconv.Itoa(l.pid)+` env `+strings.Join(l.environment, " ")+` sh -c "$SSH_ORIGINAL_COMMAND"`)
}

// Running is the rule set as nft prints it, behind the line that makes it whole.
func (l *Linux) Running() string {
	l.t.Helper()
	return "flush ruleset\n" + l.Run("nft", "-s", "list", "ruleset")
}

// Load gives the device rules.
func (l *Linux) Load(rules string) {
	l.t.Helper()
	cmd := l.within("nft", "-f", "-")
	cmd.Stdin = strings.NewReader("flush ruleset\n" + rules)
	l.output(cmd)
}
