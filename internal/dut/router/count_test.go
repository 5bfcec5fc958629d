package router

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

// The routes of a namespace are counted, of both versions, and those that are added exactly.
func TestRoutesAreCounted(t *testing.T) {
	ns := namespacetest.Enter(t)
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	lo, err := handle.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := handle.LinkSetUp(lo); err != nil {
		t.Fatal(err)
	}
	r := NewRouter(ns, FRR, "")
	count := func() int64 {
		t.Helper()
		n, known := r.Routes()
		if !known {
			_, err := kernelRoutes()
			t.Fatal(err)
		}
		return n
	}
	before := count()
	for n := range 300 {
		for _, dst := range []net.IPNet{
			{IP: net.IPv4(198, 18, byte(n>>8), byte(n)).To4(), Mask: net.CIDRMask(32, 32)},
			{IP: net.IP{0x20, 1, 0, 2, 14: byte(n >> 8), 15: byte(n)}, Mask: net.CIDRMask(128, 128)},
		} {
			if err := handle.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: &dst}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := count() - before; got != 600 {
		t.Errorf("600 routes were added, and %d are counted", got)
	}
}

func TestTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no main table": "Local:\n\tPrefixes:       7\n", "no number": "Main:\n\tPrefixes: many\n", "empty": ""} {
		file := filepath.Join(t.TempDir(), "fib_triestat")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := mainPrefixes(file); err == nil {
			t.Errorf("%s: %d", name, n)
		}
	}
}
