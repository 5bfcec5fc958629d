package xdp

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// tc runs tc in the device's namespace.
func (d *device) tc(command string) ([]byte, error) {
	var out []byte
	var err error
	d.in(d.ns, func() {
		out, err = exec.CommandContext(d.Context(), "tc", strings.Fields(command)...).CombinedOutput()
	})
	return out, err
}

// redCounts returns what a queue of the device with RED counted: marked and dropped packets.
func (d *device) redCounts(link string) (marked, dropped uint64) {
	d.Helper()
	out, err := d.tc("-s -j qdisc show dev " + link)
	var list []struct {
		Kind          string
		Marked, Drops uint64
	}
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		d.Fatalf("tc: %v: %s", err, out)
	}
	for _, q := range list {
		if q.Kind == "red" {
			return q.Marked, q.Drops
		}
	}
	d.Fatalf("%s has no queue with RED: %s", link, out)
	return 0, 0
}

// A router's queue with RED and ECN (tc-red(8)) marks frames of RoCEv2 when it is longer than its
// threshold. The receiver counts as many marks as the queue, and what the queue dropped is lost.
func TestCountsMarksOfRED(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24"), prefixes("198.18.2.1/24"))
	const link = "d2"
	if out, err := d.tc("qdisc add dev " + link + " root handle 1: tbf rate 4mbit burst 3kb limit 1mb"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := d.tc("qdisc add dev " + link + " parent 1:1 handle 10: red limit 400000 min 10000 max 30000 avpkt 500 burst 30 bandwidth 4mbit probability 0.1 ecn"); err != nil {
		if strings.Contains(string(out), "unknown") {
			t.Skipf("skipped: the kernel has no RED: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	e := bed.open(d.ports(prefixes("198.18.1.2/24"), prefixes("198.18.2.2/24"))...)
	mac, err := e.Resolve(t.Context(), "p1", netip.MustParseAddr("198.18.1.1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resolve(t.Context(), "p2", netip.MustParseAddr("198.18.2.1")); err != nil {
		t.Fatal(err)
	}
	s := stream(1, e)
	roce(&s)
	s.FrameSize = 514
	h := &s.Headers
	h.SrcMAC, h.DstMAC, h.TrafficClass = e.ports.named("p1").mac, mac, 26<<2|traffic.ECT0
	h.SrcIP, h.DstIP = netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2")
	load := func(rate int64, frames uint64) traffic.Trial {
		return traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: rate, PerNanos: 1e9}, Frames: frames}}}
	}
	if m := bed.run(e, []traffic.Stream{s}, load(100, 5), arrived); !arrived(m) {
		t.Errorf("learning: sent %d, received %d", sent(m), received(m))
	}
	markedBefore, droppedBefore := d.redCounts(link)
	var marked, dropped uint64
	m := bed.again(e, load(1200, 2000), func(m traffic.Measurement) bool { // 4.9 Mbit/s
		marked, dropped = d.redCounts(link)
		return received(m)+dropped-droppedBefore == sent(m)
	})
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	t.Logf("sent %d, received %d, marked %d; the queue marked %d and dropped %d", sent(m), rx.Received, rx.Congested, marked-markedBefore, dropped-droppedBefore)
	if rx.Congested == 0 || rx.Congested != marked-markedBefore || rx.Received+dropped-droppedBefore != 2000 || len(m.Damaged) > 0 {
		t.Errorf("received %d with %d marks, damaged %v; the queue marked %d and dropped %d of 2000", rx.Received, rx.Congested, m.Damaged, marked-markedBefore, dropped-droppedBefore)
	}
}
