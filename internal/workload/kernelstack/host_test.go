package kernelstack

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestHostOfAnEarlierProcess makes a host while another one has its address, as the hosts of a process have it that was killed
// until the kernel removes them: it waits for that, and no longer than its caller.
func TestHostOfAnEarlierProcess(t *testing.T) {
	b := newBed(t, 64_000, false)
	port, address := b.ports["client"], netip.MustParseAddr("198.18.1.77")
	earlier, err := b.newHost(t.Context(), port, address, 1500, netlink.MACVLAN_MODE_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	waits, giveUp := context.WithCancelCause(t.Context())
	gone := errors.New("the caller no longer waits")
	giveUp(gone)
	if h, err := b.newHost(waits, port, address, 1500, netlink.MACVLAN_MODE_PRIVATE); !errors.Is(err, gone) {
		t.Errorf("made %v, %v next to a host with the same address, want the cause of the context's end", h, err)
	}
	made := make(chan error, 1)
	go func() {
		h, err := b.newHost(t.Context(), port, address, 1500, netlink.MACVLAN_MODE_PRIVATE)
		made <- errors.Join(err, h.close())
	}()
	if err := earlier.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
}
