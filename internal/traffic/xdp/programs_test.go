package xdp

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
)

// The verifier follows paths, and a few branches in a row can multiply them: what it looks
// at is what opening a port waits for. The kernel refuses above a million instructions.
func TestInstructions(t *testing.T) {
	newBed(t)
	p, err := loadPrograms(1, 1, room{ports: 2}.rounded(), true, traffic.Capture{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	const most = 100_000
	for name, program := range map[string]*ebpf.Program{"port": p.Port, "tx_done": p.TxDone, "tx_refused": p.TxRefused} {
		info, err := program.Info()
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := info.VerifiedInstructions(); !ok || n > most {
			t.Errorf("the verifier looks at %d instructions of %s (known: %v), want at most %d: find the branches that multiply its paths", n, name, ok, most)
		}
	}
}

// A driver without native XDP, as that of a macvlan, gets other programs, and everything
// that is sent is received.
func TestGenericReceive(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	parent := bed.up(bed.nl, "v1")
	for _, name := range []string{"m1", "m2"} {
		if err := bed.nl.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: name, ParentIndex: parent.Attrs().Index}, Mode: netlink.MACVLAN_MODE_BRIDGE}); err != nil {
			t.Fatal(err)
		}
	}
	e := bed.open(Port{Name: "p1", Interface: "m1"}, Port{Name: "p2", Interface: "m2"})
	port := e.port("p2")
	if port.programs.frags {
		t.Error("the program takes frames in several buffers, which generic XDP has no use for")
	}
	if notes := strings.Join(port.notes, "\n"); !strings.Contains(notes, "received by generic XDP, which is slower, because the driver macvlan refused native XDP: ") {
		t.Errorf("notes %q", notes)
	}
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: 1000}}}, arrived)
	if sent(m) != 1000 || received(m) != 1000 {
		t.Errorf("sent %d, received %d, want 1000", sent(m), received(m))
	}
	// Streams that need more room replace the programs of a port.
	var streams []traffic.Stream
	for id := range uint16(20) {
		streams = append(streams, stream(id+1, e))
	}
	if err := e.Configure(t.Context(), streams); err != nil || port.programs.frags {
		t.Errorf("frags %v, %v", port.programs.frags, err)
	}
}
