// Package namespacetest gives tests a network namespace of their own.
package namespacetest

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netns"
)

// Enter makes a network namespace and lets the test's thread enter it until the test ends. It
// skips the test without root.
func Enter(t *testing.T) netns.NsHandle {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: making network namespaces needs root")
	}
	runtime.LockOSThread()
	old, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	own, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		own.Close()
		if err := netns.Set(old); err != nil {
			t.Fatal(err)
		}
		old.Close()
		runtime.UnlockOSThread()
	})
	return own
}
