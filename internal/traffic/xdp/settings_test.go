package xdp

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// cardNames returns the names of the cards, or skips the test. It brings them up, since
// drivers make some settings when an interface is first brought up.
func cardNames(t *testing.T) []string {
	t.Helper()
	names := strings.Split(os.Getenv(cardsVariable), ",")
	if len(names) != 2 {
		t.Skipf("skipped: %s does not name two network cards on one cable, see hack/vm", cardsVariable)
	}
	for _, name := range names {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(l); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func cardPorts(names []string) []Port {
	var ports []Port
	for i, name := range names {
		ports = append(ports, Port{
			Name: fmt.Sprintf("p%d", i+1), Interface: name, SpeedBitsPerSecond: 1e9,
			Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)}), 16)},
		})
	}
	return ports
}

// ethtoolShows returns the output of ethtool for the cards: pause, coalescing, rings, offloads,
// receive queues and channels, and the state and the alias of the link.
func ethtoolShows(t *testing.T, names []string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		for _, option := range []string{"-a", "-c", "-g", "-k", "-x", "-l"} {
			out, _ := exec.Command("ethtool", option, name).CombinedOutput() // without the setting it says so
			fmt.Fprintf(&all, "ethtool %s %s\n%s", option, name, out)
		}
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		a := l.Attrs()
		fmt.Fprintf(&all, "%s alias %q MTU %d flags %v promiscuity %d\n", name, a.Alias, a.MTU, a.RawFlags&^(1<<6|1<<16), a.Promisc)
	}
	return all.String()
}

// manyHosts returns a stream whose addresses differ from frame to frame, as if 100 hosts sent it.
func manyHosts(e *Engine) traffic.Stream {
	return traffic.Stream{
		ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: frame.EthernetMinSize,
		Headers: traffic.Headers{
			SrcMAC: e.ports.named("p1").mac, DstMAC: e.ports.named("p2").mac,
			SrcIP: netip.MustParseAddr("198.18.1.1"), DstIP: netip.MustParseAddr("198.18.2.1"), SrcIPCount: 100, DstIPCount: 100,
			SrcPort: 49152, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
		},
	}
}

// TestCardsKeepAStreamInOrder checks that a stream of many hosts arrives in order, although
// the cards would spread it over their queues, and that they have their settings back.
func TestCardsKeepAStreamInOrder(t *testing.T) {
	names := cardNames(t)
	before := ethtoolShows(t, names)
	e, err := New(Options{Host: "test", Ports: cardPorts(names)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := &bed{T: t}
	m := b.run(e, []traffic.Stream{manyHosts(e)}, traffic.Trial{Duration: time.Second, Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 7440, PerNanos: 1e9}}}}, arrived)
	got := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	t.Logf("%d frames sent, %d received, %d reordered; notes %v", sent(m), got.Received, got.Reordered, m.Notes)
	if got.Received == 0 || got.Reordered > 0 {
		t.Errorf("%d of %d frames were reordered", got.Reordered, got.Received)
	}
	for _, p := range e.ports {
		t.Logf("%s (%s) notes: %q", p.Name, p.driver, p.notes)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if after := ethtoolShows(t, names); after != before {
		t.Errorf("the settings differ after the engine has closed:\n%s", difference(before, after))
	}
}

// TestCardsUsePauseOnlyWhereAMethodNeedsIt checks that pause frames are off, but for streams
// that the device may hold back.
func TestCardsUsePauseOnlyWhereAMethodNeedsIt(t *testing.T) {
	names := cardNames(t)
	before := pauseOf(t, names[0])
	if before == nil {
		t.Skipf("skipped: the driver of %s has no pause frames", names[0])
	}
	e, err := New(Options{Host: "test", Ports: cardPorts(names)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := &bed{T: t}
	for _, obeys := range []bool{false, true, false} {
		s := manyHosts(e)
		s.ObeysPause = obeys
		b.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 10}}}, func(traffic.Measurement) bool { return true })
		want := ethtool.Pause{}
		if obeys {
			want = *before
		}
		if got := pauseOf(t, names[0]); *got != want && (obeys || got.RxPause+got.TxPause > 0) {
			t.Errorf("with ObeysPause %t the pause settings are %+v, want %+v", obeys, *got, want)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := pauseOf(t, names[0]); *got != *before {
		t.Errorf("after the engine has closed the pause settings are %+v, want %+v", *got, *before)
	}
}

func pauseOf(t *testing.T, name string) *ethtool.Pause {
	t.Helper()
	s, err := card.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return s.Pause
}

// holdVariable makes TestHoldCardsUntilKilled hold the cards.
const holdVariable = "NODROP_TEST_HOLD_CARDS"

// TestHoldCardsUntilKilled is the process that TestCardsAfterKills kills.
func TestHoldCardsUntilKilled(t *testing.T) {
	if os.Getenv(holdVariable) == "" {
		t.Skip("skipped: this is the process that TestCardsAfterKills kills")
	}
	if _, err := New(Options{Host: "test", Ports: cardPorts(cardNames(t))}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("holding the cards")
	select {}
}

// TestCardsAfterKills checks that the cards have their settings back after ten engines were
// killed one after the other: each takes over the record of the one before.
func TestCardsAfterKills(t *testing.T) {
	names := cardNames(t)
	before := ethtoolShows(t, names)
	for range 10 {
		child := exec.Command(os.Args[0], "-test.run=^TestHoldCardsUntilKilled$", "-test.v")
		child.Env = append(os.Environ(), holdVariable+"=1")
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		holds := false
		for lines := bufio.NewScanner(out); !holds && lines.Scan(); {
			holds = strings.Contains(lines.Text(), "holding the cards")
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		if !holds {
			t.Fatal("the engine did not open the cards")
		}
	}
	left := ethtoolShows(t, names)
	for _, name := range names {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := card.Recover(l)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: restored %q, alias was %q", name, changed, l.Attrs().Alias)
	}
	if after := ethtoolShows(t, names); after != before {
		t.Errorf("the settings differ after ten kills:\n%s\nbefore they were restored:\n%s", difference(before, after), difference(before, left))
	}
}

// difference returns the lines that differ.
func difference(before, after string) string {
	var text strings.Builder
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range max(len(was), len(is)) {
		a, b := "", ""
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if a != b {
			fmt.Fprintf(&text, "- %s\n+ %s\n", a, b)
		}
	}
	return text.String()
}
