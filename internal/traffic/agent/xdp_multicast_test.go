package agent

import (
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// Two agents over the wire: a port joins while the other sends, its report
// leaves before it returns, and the samples of both add up to the totals.
func TestTwoAgentsJoinAndSample(t *testing.T) {
	a, b := twoHosts(t)
	f, _, _ := newLab(t).dialTwo(a, b)
	defer f.Close()
	info, err := f.Info(t.Context())
	must(t, "info", err)
	if !info.Capabilities.Multicast || !info.Capabilities.MPLS {
		t.Errorf("capabilities %+v", info.Capabilities)
	}

	// Nothing stands between the two, so that all frames to the group arrive; one
	// stream begins later than the other, in labels and a tag.
	group := netip.MustParseAddr("239.1.0.1")
	plain := bidirectional(t, f)[0]
	plain.Headers.DstIP, plain.Headers.DstMAC = group, traffic.MAC{1, 0, 0x5e, 1, 0, 1}
	labelled := plain
	labelled.ID, labelled.FrameSize = 2, 128
	labelled.Headers.VLANs, labelled.Headers.Labels = frame.VLANs{{ID: 4094, Priority: 7}}, []uint32{16, 1<<20 - 1}
	const delay, frames = 100 * time.Millisecond, 5000
	load := traffic.Load{Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: frames}
	late := load
	late.Delay = delay
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{plain, labelled}))
	must(t, "starting", f.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: late}}))
	at, err := f.Join(t.Context(), []traffic.Membership{{Port: "p2", Group: group, Count: 4095}, {Port: "p1", Group: group, Count: 1}})
	must(t, "joining", err)
	if len(at) != 2 || at["p1"] == 0 || at["p2"] == 0 {
		t.Errorf("moments %v", at)
	}
	var last traffic.Sample
	eventually(t, "all frames were sampled", func() bool {
		s, err := traffictest.SampleNow(t, f)
		must(t, "reading a sample", err)
		if s.Sent < last.Sent || s.Received < last.Received || s.At < last.At {
			t.Fatalf("%+v after %+v", s, last)
		}
		last = s
		return s.Received == 2*frames
	})
	must(t, "waiting", f.Wait(t.Context()))
	// The agents were asked at the same time, not at one: only now nothing moves.
	last, err = traffictest.SampleNow(t, f)
	must(t, "reading the last sample", err)
	m, err := f.Read(t.Context())
	must(t, "reading", err)
	one, two := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}], m.Rx[traffic.RxKey{Stream: 2, Port: "p2"}]
	if m.Tx[1].Sent != frames || m.Tx[2].Sent != frames || one.Received != frames || two.Received != frames || last.Sent != 2*frames || last.Received != 2*frames {
		t.Errorf("sent %d and %d, received %d and %d, the last sample %+v: want %d each", m.Tx[1].Sent, m.Tx[2].Sent, one.Received, two.Received, last, frames)
	}
	if one.FirstNs == 0 || one.LastNs < one.FirstNs || two.FirstNs <= one.FirstNs || two.LastNs < two.FirstNs {
		t.Errorf("from %d to %d, and from %d to %d", one.FirstNs, one.LastNs, two.FirstNs, two.LastNs)
	}
	left, err := f.Leave(t.Context(), []traffic.Membership{{Port: "p2", Group: group, Count: 4095}})
	must(t, "leaving", err)
	if left["p2"] <= at["p2"] || len(left) != 1 {
		t.Errorf("left at %v, joined at %v", left, at)
	}
}
