package netif

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

func addVeth(t *testing.T, h *netlink.Handle, name, peer string) {
	t.Helper()
	if err := h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}); err != nil {
		t.Fatal(err)
	}
}

func TestWaitSeesWhatAppears(t *testing.T) {
	namespacetest.Enter(t)
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	addVeth(t, h, "p1", "q1")
	go func() {
		// One after the other, and up in the wrong order.
		h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p2"}, PeerName: "q2"})
		for _, name := range []string{"q2", "p1", "p2", "q1"} {
			if link, err := h.LinkByName(name); err == nil {
				h.LinkSetUp(link)
			}
		}
	}()
	if err := Wait(ctx, []string{"p1", "p2"}, Running); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p1", "p2"} {
		link, err := netlink.LinkByName(name)
		if err != nil || Running(link) != nil {
			t.Errorf("%s: %v, %v", name, link, err)
		}
	}
}

func TestWaitNamesWhatIsMissing(t *testing.T) {
	namespacetest.Enter(t)
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	addVeth(t, h, "p1", "q1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = Wait(ctx, []string{"p1", "p9"}, Running)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "there is no interface p9") || !strings.Contains(err.Error(), "interface p1 is down") {
		t.Errorf("got %v", err)
	}
	if err := Wait(t.Context(), []string{"p1"}, nil); err != nil {
		t.Errorf("an interface that is there: %v", err)
	}
}
