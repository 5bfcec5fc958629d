package xdp

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// TestFarEndTakesFrames refuses frames that the device's end of a veth is too small for: the kernel neither sends nor counts
// them, and the trial would not end.
func TestFarEndTakesFrames(t *testing.T) {
	br := newBed(t).bridged()
	far, err := br.nl.LinkByName("d1")
	if err != nil {
		t.Fatal(err)
	}
	s := traffic.Stream{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 512, Headers: traffic.Headers{
		SrcMAC: traffic.MAC{2, 1}, SrcMACCount: 2, DstMAC: traffic.MAC{2, 2}, DstMACCount: 2, SrcIPCount: 1, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1,
	}}
	for _, tc := range []struct {
		mtu  int
		want string
	}{{489, "the other end of v1 takes at most 511 bytes: raise its MTU at the device, now 489"}, {490, ""}, {1500, ""}} {
		if err := br.nl.LinkSetMTU(far, tc.mtu); err != nil {
			t.Fatal(err)
		}
		err := br.engine.Configure(t.Context(), []traffic.Stream{s})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("MTU %d: %v, want %q", tc.mtu, err, tc.want)
		}
	}
}
