package xdp

import (
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
)

// Ten million frames of the smallest size leave one end of a veth and arrive at
// the other, not one less and not one more.
func TestExactBackToBack(t *testing.T) {
	for _, transmit := range []Transmit{LiveFrames, AFXDP, PacketSocket} {
		t.Run(string(transmit), func(t *testing.T) {
			frames := uint64(10_000_000)
			if testing.Short() {
				frames = 3_000_000
			}
			if transmit != LiveFrames {
				longtest.Skip(t, "LiveFrames, and TestAFXDPTrials")
			}
			exactBackToBack(t, transmit, frames)
		})
	}
}

func exactBackToBack(t *testing.T, transmit Transmit, frames uint64) {
	bed := newBed(t)
	e := bed.both(transmit)
	s := stream(1, e)
	m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: frames}}}, arrived)

	tx, rx := m.Tx[1], m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	t.Logf("%d frames of 64 bytes sent in %v: %.0f frames/s; received %d, lost %d, duplicate %d, reordered %d",
		tx.Sent, tx.Duration.Round(time.Millisecond), float64(tx.Sent)/tx.Duration.Seconds(), rx.Received, tx.Sent-rx.Received, rx.Duplicate, rx.Reordered)
	if tx.Intended != frames || tx.Sent != frames || rx.Received != frames {
		t.Errorf("intended %d, sent %d, received %d: want %d each", tx.Intended, tx.Sent, rx.Received, frames)
	}
	if rx.Duplicate != 0 || rx.Reordered != 0 {
		t.Errorf("duplicate %d, reordered %d: want none", rx.Duplicate, rx.Reordered)
	}
	checkLatency(t, rx)
}

// A device that drops every thousandth frame and counts what it drops loses
// exactly that.
func TestExactDropper(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.dropper(1000)
	e := bed.open(d.ports(nil, nil)...)
	frames := uint64(10_000_000)
	if testing.Short() { // TestExactBackToBack sends as many.
		frames = 2_000_000
	}
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: frames}}},
		func(m traffic.Measurement) bool { return received(m)+d.lost() == sent(m) })

	tx, rx, device := m.Tx[1], m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}], d.faults()
	lost := tx.Sent - rx.Received
	t.Logf("%d frames of 64 bytes through a device sent in %v: %.0f frames/s; received %d, lost %d; the device dropped %d of %d, and %d for want of room",
		tx.Sent, tx.Duration.Round(time.Millisecond), float64(tx.Sent)/tx.Duration.Seconds(), rx.Received, lost, device.Dropped, device.Frames, device.Refused)
	if tx.Sent != frames || device.Frames != tx.Sent || device.Dropped != frames/1000 {
		t.Errorf("sent %d, the device got %d and dropped %d: want %d and %d", tx.Sent, device.Frames, device.Dropped, frames, frames/1000)
	}
	if lost != d.lost() {
		t.Errorf("lost %d, the device %d", lost, d.lost())
	}
	if rx.Duplicate != 0 || rx.Reordered != 0 {
		t.Errorf("duplicate %d, reordered %d: want none", rx.Duplicate, rx.Reordered)
	}
	checkLatency(t, rx)
}

// stream is a stream of 64 byte frames from p1 to p2 of e.
func stream(id uint16, e *Engine) traffic.Stream {
	return traffic.Stream{
		ID: id, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 64,
		Headers: traffic.Headers{
			SrcMAC: e.ports.named("p1").mac, DstMAC: e.ports.named("p2").mac,
			SrcIP: netip.MustParseAddr("198.18.0.1"), DstIP: netip.MustParseAddr("198.18.0.2"),
			SrcIPCount: 1, DstIPCount: 1, SrcPort: 20001, DstPort: 30001, SrcPortCount: 1, DstPortCount: 1,
		},
	}
}

// checkLatency checks that the parts of a latency agree.
func checkLatency(t *testing.T, rx traffic.RxCount) {
	t.Helper()
	l, sum := rx.Latency, uint64(0)
	if l.Count != rx.Received {
		t.Errorf("latency of %d frames, received %d", l.Count, rx.Received)
	}
	for i, n := range l.Buckets {
		low, high := traffic.BucketBounds(i)
		if low > l.MaxNs || high < l.MinNs {
			t.Errorf("%d frames between %d and %d ns, all were between %d and %d ns", n, low, high, l.MinNs, l.MaxNs)
		}
		sum += n
	}
	if sum != l.Count {
		t.Errorf("the buckets hold %d frames, want %d", sum, l.Count)
	}
	if l.Count == 0 {
		return
	}
	if avg := l.SumNs / l.Count; l.MinNs > avg || avg > l.MaxNs || l.MinNs == 0 {
		t.Errorf("latency min %d, avg %d, max %d ns", l.MinNs, avg, l.MaxNs)
	}
	if l.JitterCount != l.Count-1 || l.JitterMaxNs > l.MaxNs-l.MinNs {
		t.Errorf("jitter of %d pairs up to %d ns, with latencies of %d frames from %d to %d ns", l.JitterCount, l.JitterMaxNs, l.Count, l.MinNs, l.MaxNs)
	}
}
