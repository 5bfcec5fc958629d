package xdp

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/safchain/ethtool"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// cardsVariable names two network cards of this namespace with a cable between them,
	// separated by a comma, as in an emulated machine (hack/vm).
	cardsVariable = "NODROP_TEST_CARDS"
	// cardFramesVariable is the number of frames that TestExactOnCards sends.
	cardFramesVariable = "NODROP_TEST_CARD_FRAMES"
	// cardRate is low enough for emulated machines, in frames/s.
	cardRate = 5000
)

// Frames that leave one network card arrive at the other, not one less and not one more,
// by every transmit path.
func TestExactOnCards(t *testing.T) {
	first, second, ok := strings.Cut(os.Getenv(cardsVariable), ",")
	if !ok {
		t.Skipf("skipped: %s names no two network cards", cardsVariable)
	}
	frames := uint64(20_000)
	if text := os.Getenv(cardFramesVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", cardFramesVariable, err)
		}
		frames = n
	}
	paths := []Transmit{LiveFrames, AFXDP, PacketSocket}
	if forced := os.Getenv(transmitVariable); forced != "" {
		paths = []Transmit{Transmit(forced)}
	}
	longRings(t, first, second)
	for _, transmit := range paths {
		t.Run(string(transmit), func(t *testing.T) {
			bed := &bed{T: t}
			e := bed.open(
				Port{Name: "p1", Interface: first, Transmit: transmit, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}},
				Port{Name: "p2", Interface: second, Transmit: transmit, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}},
			)
			load := traffic.Load{Rate: traffic.Rate{Frames: cardRate, PerNanos: 1e9}, Frames: frames}
			m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}, arrived)
			info, err := e.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range info.Ports {
				t.Logf("%s (%s): %q", p.Interface, p.Driver, p.Notes)
			}
			for key, rx := range m.Rx {
				tx := m.Tx[key.Stream]
				what := fmt.Sprintf("to %s: sent %d in %v, received %d, duplicate %d, reordered %d, latency %d to %d ns",
					key.Port, tx.Sent, tx.Duration, rx.Received, rx.Duplicate, rx.Reordered, rx.Latency.MinNs, rx.Latency.MaxNs)
				t.Log(what)
				if tx.Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
					t.Errorf("%s: want %d", what, frames)
				}
			}
			t.Logf("dropped %v, pacing %+v, notes %v", m.Dropped, m.Pacing, m.Notes)
		})
	}
}

// longRings gives network cards the longest rings that they have, until the test ends: an
// emulated machine stalls for as long as it takes to fill the usual ones.
func longRings(t *testing.T, names ...string) {
	t.Helper()
	e, err := ethtool.NewEthtool()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for _, name := range names {
		ring, err := e.GetRing(name)
		if err != nil {
			t.Fatalf("reading the rings of %s: %v", name, err)
		}
		longest := ring
		longest.RxPending, longest.TxPending = ring.RxMaxPending, ring.TxMaxPending
		if _, err := e.SetRing(name, longest); err != nil {
			t.Fatalf("setting the rings of %s: %v", name, err)
		}
		t.Cleanup(func() {
			if _, err := e.SetRing(name, ring); err != nil {
				t.Errorf("setting the rings of %s back: %v", name, err)
			}
		})
	}
}
