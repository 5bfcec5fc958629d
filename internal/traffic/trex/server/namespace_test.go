package server

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// inside is set in a test binary that runs inside a namespace.
const inside = "NODROP_TEST_INSIDE"

// alone runs the rest of a test in a process and a network namespace of its own,
// since a server is started into the namespace of its process. It returns false in
// the outer process, where the test has run when it returns.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		up(t, "lo")
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: needs root, to make network namespaces")
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+regexp.QuoteMeta(t.Name())+"$")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	text, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(string(text), "--- SKIP"):
		t.Skipf("skipped inside the namespace:\n%s", text)
	case !strings.Contains(string(text), "--- PASS: "+t.Name()):
		t.Errorf("did not run inside the namespace:\n%s", text)
	}
	return false
}

// cable makes a veth pair of two interfaces that are up.
func cable(t *testing.T, near, far string, mtu int) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = near, mtu
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerMTU = far, uint32(mtu)
	if err := netlink.LinkAdd(v); err != nil {
		t.Fatalf("making %s and %s: %v", near, far, err)
	}
	up(t, near)
	up(t, far)
}

func up(t *testing.T, name string) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(l); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(l)
	}
	if err != nil {
		t.Fatal(err)
	}
}
