package tcpmodel

import "testing"

// TestLargeBuffer holds a buffer that takes all windows to no collapse.
func TestLargeBuffer(t *testing.T) {
	p := Defaults()
	p.Switch.BufferBytes = 64 << 20
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
	p := Defaults()
	p.Servers, p.BlockBytes = 8, 4<<20
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
	p := Defaults()
	p.Servers, p.Switch.BufferBytes = 32, 100_000
	long := run(t, p)
	p.TCP.MinRTO /= 1000
	p.TCP.DelayedAck /= 1000
	short := run(t, p)
	if long.GoodputMbps > 0.5*p.LinkMbps || short.GoodputMbps < 2*long.GoodputMbps {
		t.Errorf("%.0f Mbit/s with a minimum of 200 ms, %.0f Mbit/s with 200 µs", long.GoodputMbps, short.GoodputMbps)
	}
}
