package xdp

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// cabledCards opens an engine on the two ends of a cable between network cards, which
// NODROP_TEST_CARDS names, such as "eth0 eth1" in the machines of hack/vm.
func cabledCards(t *testing.T, mtu [2]int) *Engine {
	t.Helper()
	names := strings.Fields(os.Getenv("NODROP_TEST_CARDS"))
	if len(names) != 2 {
		t.Skip("skipped: NODROP_TEST_CARDS does not name two network cards on one cable, see hack/vm")
	}
	var ports []Port
	for i, name := range names {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if was := l.Attrs().MTU; was != mtu[i] {
			if err := netlink.LinkSetMTU(l, mtu[i]); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := netlink.LinkSetMTU(l, was); err != nil {
					t.Error(err)
				}
			})
		}
		ports = append(ports, Port{
			Name: fmt.Sprintf("p%d", i+1), Interface: name, SpeedBitsPerSecond: 1e9,
			Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)}), 24)},
		})
	}
	e, err := New(Options{Host: "test", Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// cardTrial sends frames of a size from p1 to p2 and reads the counters when they have
// settled. It returns what the card of each port counted.
func cardTrial(t *testing.T, e *Engine, size int, load traffic.Load) (traffic.Measurement, [2]cardChange) {
	t.Helper()
	s := stream(1, e)
	s.FrameSize = size
	b := &bed{T: t}
	start := time.Now()
	m := b.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}, func(m traffic.Measurement) bool {
		return arrived(m) || len(m.Dropped)+len(m.WireErrors) > 0 && time.Since(start) > 5*time.Second
	})
	var changes [2]cardChange
	if err := e.netns.Do(func() error {
		now, err := e.ports.settled(t.Context(), e.netlink, e.trial.end(), func(int, losses) bool { return true })
		for i, p := range e.ports {
			if err == nil {
				table, _ := cardcount.TableOf(p.driver)
				changes[i] = changeOfCounts(table, e.trial.losses[i].card, now[i].card, e.trial.rejected(p))
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("sent %d, received %d, dropped %v, wire errors %v, unsent %v, notes %v", sent(m), received(m), m.Dropped, m.WireErrors, m.Unsent, m.Notes)
	for i, p := range e.ports {
		t.Logf("%s (%s): %+v", p.Name, p.driver, changes[i])
	}
	return m, changes
}

// A card's own counter of sent frames agrees with the engine's, and no counter is taken for
// a loss where nothing was lost.
func TestCardsCountWhatTheEngineSends(t *testing.T) {
	e := cabledCards(t, [2]int{1500, 1500})
	const frames = 2000
	m, changes := cardTrial(t, e, frame.EthernetMinSize, traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames})
	if sent(m) != frames || !arrived(m) {
		t.Errorf("sent %d, received %d, want %d", sent(m), received(m), frames)
	}
	if len(m.Dropped)+len(m.WireErrors)+len(m.Unsent) > 0 || len(notesOf(m, traffic.NoteMiscount)) > 0 {
		t.Errorf("dropped %v, wire errors %v, unsent %v, notes %v: want none", m.Dropped, m.WireErrors, m.Unsent, m.Notes)
	}
	if c := changes[0]; c.reports && (c.sent < frames || c.sent > frames+othersMost) {
		t.Errorf("the card counted %d sent frames, want %d and the kernel's own", c.sent, frames)
	}
	info, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range info.Ports {
		if p.Hypervisor == "" {
			t.Errorf("port %s: want the hypervisor of the emulated machine", p.Name)
		}
		t.Logf("port %s: hypervisor %q, emulated %q, notes %q", p.Name, p.Hypervisor, p.Emulated, p.Notes)
	}
}

// skipIfNotCounted skips tests of losses that an emulated card does not count.
func skipIfNotCounted(t *testing.T, e *Engine) {
	t.Helper()
	if p := e.ports.named("p2"); p.emulated == "QEMU" && (p.driver == "igb" || p.driver == "virtio_net") {
		t.Skipf("skipped: QEMU drops frames of an emulated card with the driver %s and counts none (hw/net/igb_core.c)", p.driver)
	}
}

// Frames that are too long for the receiving card are lost at the tester's card, which
// counts them, and not in the device.
func TestCardCountsFramesThatAreTooLong(t *testing.T) {
	e := cabledCards(t, [2]int{3000, 1500})
	skipIfNotCounted(t, e)
	m, changes := cardTrial(t, e, 2500, traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 200})
	if lost, counted := sent(m)-received(m), changes[1].damaged.frames+changes[1].missed.frames; counted < lost {
		t.Errorf("lost %d frames, of which the card counted %d", lost, counted)
	}
}

// A receiver that is too slow loses frames in its card, which counts them.
func TestOverloadedCardCountsItsLosses(t *testing.T) {
	e := cabledCards(t, [2]int{1500, 1500})
	skipIfNotCounted(t, e)
	m, changes := cardTrial(t, e, frame.EthernetMinSize, traffic.Load{Max: true, Frames: 100_000})
	lost := sent(m) - received(m)
	if counted := changes[1].missed.frames; lost > 0 && counted < lost {
		t.Errorf("lost %d frames, of which the card counted %d", lost, counted)
	}
	if lost > 0 && m.Dropped["p2"] == 0 {
		t.Errorf("dropped %v: want the %d lost frames at p2", m.Dropped, lost)
	}
}
