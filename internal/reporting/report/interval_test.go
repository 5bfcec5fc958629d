package report

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

func anInterval(ports ...trials.PortInterval) trials.Interval {
	return trials.Interval{At: 3 * time.Second, Length: 2 * time.Second, Gaps: true, Ports: ports}
}

func aPort(name string) trials.PortInterval {
	return trials.PortInterval{
		ClassAt: traffic.ClassAt{Port: name, Class: "unicast"}, Intended: 4_000_000,
		Tx: traffic.TxSample{Sent: 3_000_000, Bytes: 192_000_000}, TxTotal: traffic.TxSample{Sent: 4_500_000},
		Rx: traffic.RxSample{
			Received: 2_999_000, Bytes: 64 * 2_999_000,
			Latency: traffic.Latency{Count: 2, MinNs: 1000, MaxNs: 3000, SumNs: 4000, Buckets: map[uint32]uint64{traffic.BucketIndex(1000): 1, traffic.BucketIndex(3000): 1}},
		},
		RxTotal: traffic.RxSample{Received: 4_498_500, Lost: 1500},
	}
}

func TestIntervalTable(t *testing.T) {
	t.Parallel()
	sender, receiver := aPort("p1"), aPort("p10")
	sender.Rx, sender.RxTotal, receiver.TxTotal = traffic.RxSample{}, traffic.RxSample{}, traffic.TxSample{}
	want := strings.Trim(`
          offered               received                 latency (us)
  port   frames/s   Mbit/s      frames/s   Mbit/s   lost    avg    p99
  p1    1,500,000  768.000
  p10                          1,499,500  767.744  1,500  2.000  3.000`, "\n")
	got := strings.Join(IntervalTable(anInterval(sender, receiver), 10, 0), "\n")
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("\n%s\nwant:\n%s", got, want)
	}
	var many []trials.PortInterval
	for range 20 {
		many = append(many, aPort("p"))
	}
	if lines := IntervalTable(anInterval(many...), 10, 0); len(lines) != 10 || lines[9] != "  and 13 more" {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	other := aPort("p1")
	other.Class = "multicast"
	if text := strings.Join(IntervalTable(anInterval(other, aPort("p1")), 10, 0), "\n"); !strings.Contains(text, "p1 multicast") || !strings.Contains(text, "p1 unicast") {
		t.Errorf("two classes:\n%s", text)
	}
}

func TestIntervalLine(t *testing.T) {
	t.Parallel()
	i := anInterval(aPort("p1"), aPort("p2"))
	want := "offered 3,000,000 frames/s, 1.536 Gbit/s, received 2,999,000 frames/s, 3,000 lost, latency 2.000 us on average, 3.000 us p99"
	if got := IntervalLine(i); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// What an engine does not know is left out, and no 0.
	i.Gaps, i.Ports = false, []trials.PortInterval{{Tx: traffic.TxSample{Sent: 1000, Bytes: 64_000}}}
	if got, want := IntervalLine(i), "offered 500 frames/s, 0.256 Mbit/s, received 0 frames/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
