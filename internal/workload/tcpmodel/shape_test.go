package tcpmodel

import (
	"strings"
	"testing"
	"time"
)

// recentHosts returns hosts like namespaces of a recent Linux on one machine, whose connections stay open.
func recentHosts() Params {
	p := Defaults()
	p.Hosts = Hosts{
		Delay: 20 * time.Microsecond, Jitter: 5 * time.Microsecond, ResponseDelay: 20 * time.Microsecond, ResponseJitter: 20 * time.Microsecond,
		RequestSpacing: 5 * time.Microsecond, IterationGap: 100 * time.Microsecond,
	}
	p.TCP.CongestionControl, p.TCP.InitialWindow, p.TCP.GrowthLimit, p.TCP.ReceiveWindowBytes = Reno, 10, 2, 4_000_000
	p.TCP.KeepOpen, p.TCP.IdleRestart = true, true
	return p
}

// TestLargeBuffer holds a buffer that takes all windows to no collapse.
func TestLargeBuffer(t *testing.T) {
	p := recentHosts()
	p.Switch.BufferBytes, p.Iterations = 64<<20, 10
	p.Servers = 1
	one := run(t, p)
	for _, c := range []CongestionControl{Reno, Cubic, DCTCP} {
		p.Servers, p.TCP.CongestionControl = 32, c
		many := run(t, p)
		if many.GoodputMbps < 0.9*one.GoodputMbps || many.DroppedPackets > 0 {
			t.Errorf("%s: %.0f Mbit/s and %g drops with 32 servers, %.0f Mbit/s with one", c, many.GoodputMbps, many.DroppedPackets, one.GoodputMbps)
		}
	}
}

// TestMarksPreventDrops compares DCTCP with Reno, which ignores the threshold.
func TestMarksPreventDrops(t *testing.T) {
	p := recentHosts()
	p.Servers, p.Iterations, p.BlockBytes = 8, 20, 4<<20
	p.Switch.BufferBytes, p.Switch.ECNThresholdBytes = 500_000, 100_000
	reno := run(t, p)
	p.TCP.CongestionControl = DCTCP
	dctcp := run(t, p)
	if reno.DroppedPackets < 50 || reno.MarkedPackets != 0 {
		t.Errorf("reno: %g drops and %g marks per iteration, want at least 50 and none", reno.DroppedPackets, reno.MarkedPackets)
	}
	if dctcp.DroppedPackets > reno.DroppedPackets/50 || dctcp.MarkedPackets == 0 {
		t.Errorf("dctcp: %g drops and %g marks per iteration; reno has %g drops", dctcp.DroppedPackets, dctcp.MarkedPackets, reno.DroppedPackets)
	}
	if dctcp.GoodputMbps < 0.99*reno.GoodputMbps {
		t.Errorf("dctcp %.0f Mbit/s, reno %.0f Mbit/s", dctcp.GoodputMbps, reno.GoodputMbps)
	}
}

// TestShortTimeout holds a short minimum of the timeout to most of the goodput of a large buffer.
func TestShortTimeout(t *testing.T) {
	p := recentHosts()
	p.Servers, p.Iterations, p.Switch.BufferBytes = 32, 10, 100_000
	long := run(t, p)
	p.TCP.MinRTO /= 1000
	p.TCP.DelayedAck /= 1000
	short := run(t, p)
	if long.GoodputMbps > 0.5*p.LinkMbps || short.GoodputMbps < 2*long.GoodputMbps {
		t.Errorf("%.0f Mbit/s with a minimum of 200 ms, %.0f Mbit/s with 200 µs", long.GoodputMbps, short.GoodputMbps)
	}
}

// TestStatelessFramesTakeTheirShare sends frames at a constant rate next to connections. A buffer that takes all windows loses none: the goodput is the rest of the rate that the frames
// leave. A small one loses frames and segments.
func TestStatelessFramesTakeTheirShare(t *testing.T) {
	p := recentHosts()
	p.Servers, p.Iterations, p.BlockBytes, p.Switch.BufferBytes = 4, 10, 4_000_000, 64_000_000
	alone := run(t, p)
	p.Stateless = Stateless{FrameBytes: 1518, PerSecond: 10_000_000_000 / 8 / 1538 * 40 / 100}
	next := run(t, p)
	if c := next.Stateless; c.Dropped > 0 || next.DroppedPackets > 0 || c.MaxWait == 0 {
		t.Errorf("a buffer for everything: %+v, %g dropped packets", c, next.DroppedPackets)
	}
	if share := next.GoodputMbps / alone.GoodputMbps; share < 0.55 || share > 0.65 {
		t.Errorf("goodput %.0f Mbit/s without frames, and %.0f next to 40 %% of the link", alone.GoodputMbps, next.GoodputMbps)
	}
	p.Switch.BufferBytes = 100_000
	small := run(t, p)
	most := time.Duration(100_000+1518) * 8 / 10 // ns at 10 Gbit/s, with preambles and gaps
	if c := small.Stateless; c.Dropped == 0 || small.DroppedPackets == 0 || c.MaxWait > most*102/100 || c.MaxWait < most*9/10 {
		t.Errorf("a small buffer: %+v, %g dropped packets, longest wait of a full buffer %s", c, small.DroppedPackets, most)
	}
}

// TestTooManyStatelessFrames ends a simulation that would take too long.
func TestTooManyStatelessFrames(t *testing.T) {
	p := recentHosts()
	if testing.Short() {
		t.Skip("simulates 50 million frames")
	}
	p.Servers, p.Iterations, p.BlockBytes = 1, 100_000, 10_000_000
	p.Stateless = Stateless{FrameBytes: 64, PerSecond: 14_880_952}
	if _, err := Run(p); err == nil || !strings.Contains(err.Error(), "ask for fewer iterations, a lower load or larger frames") {
		t.Errorf("%v", err)
	}
}
