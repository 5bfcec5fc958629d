package xdp

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// The streams and rates that the plan makes of 7:4:1 cross a router in that ratio,
// in frames and in bytes, to the frame.
func TestMixOverARouter(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24"), prefixes("198.18.2.1/24"))
	e := bed.open(d.ports(prefixes("198.18.1.2/24"), prefixes("198.18.2.2/24"))...)
	p := mixPlan(t)
	nextHops := map[uint16]traffic.MAC{}
	macs := map[string]traffic.MAC{"p1": e.ports.named("p1").mac, "p2": e.ports.named("p2").mac}
	for _, s := range p.Streams {
		mac, err := e.Resolve(t.Context(), p.Ports[s.Tx].Name, s.NextHop())
		if err != nil {
			t.Fatal(err)
		}
		nextHops[s.ID] = mac
	}
	mix := p.Sizes[len(p.Sizes)-1]
	streams := p.At(mix).Traffic(macs, nextHops)

	// A round of 12 frames has 35,888 bits: at 10 % of 100M, 200 rounds take 717.76 ms.
	const rounds, took = 200, 717_760 * time.Microsecond
	loads, err := p.At(mix).Loads(plan.Share(100_000))
	if err != nil {
		t.Fatal(err)
	}
	learning := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for id, load := range loads {
		// What the rate makes in that time is the number to send, so that a busy machine
		// changes nothing.
		load.Frames = intended(load, took)
		loads[id] = load
		load.Frames = 10
		learning.Loads[id] = load
	}
	if m := bed.run(e, streams, learning, arrived); !arrived(m) {
		t.Fatalf("learning: sent %d, received %d", sent(m), received(m))
	}
	before := d.octets()
	m := bed.again(e, traffic.Trial{Loads: loads}, arrived)

	weights, octets := map[int]uint64{64: 7, 570: 4, 1518: 1}, uint64(0)
	if len(streams) != 6 {
		t.Fatalf("%d streams, want 3 sizes in both directions", len(streams))
	}
	for _, s := range streams {
		tx, rx := m.Tx[s.ID], m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
		t.Logf("%s to %s, %d B: sent %d, received %d in %v", s.TxPort, s.RxPorts[0], s.FrameSize, tx.Sent, rx.Received, tx.Duration.Round(time.Millisecond))
		if want := rounds * weights[s.FrameSize]; tx.Intended != want || tx.Sent != want || rx.Received != want || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("stream %d of %d B: intended %d, sent %d, received %d, duplicate %d, reordered %d: want %d", s.ID, s.FrameSize, tx.Intended, tx.Sent, rx.Received, rx.Duplicate, rx.Reordered, want)
		}
		octets += tx.Sent * uint64(s.FrameSize-18)
		checkLatency(t, rx)
	}
	if got := d.octets() - before; got != octets {
		t.Errorf("the device received %d bytes of IP packets, want %d", got, octets)
	}
}

// mixPlan plans 7:4:1 in both directions over a router between two ports of 100M.
func mixPlan(t *testing.T) plan.Plan {
	t.Helper()
	var benchmark v1alpha1.Benchmark
	benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameMixes: []v1alpha1.FrameMix{{Name: "simple", Weights: []v1alpha1.FrameWeight{
			{FrameSize: 64, Weight: 7}, {FrameSize: 570, Weight: 4}, {FrameSize: 1518, Weight: 1}}}},
		Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
	}
	var testBed v1alpha1.TestBed
	testBed.Spec.Engine.Kind = v1alpha1.EngineXDP
	for i, name := range []string{"p1", "p2"} {
		testBed.Spec.Ports = append(testBed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "here", Speed: "100M",
			Addresses:  []string{[]string{"198.18.1.2/24", "198.18.2.2/24"}[i]},
			Gateways:   []string{[]string{"198.18.1.1", "198.18.2.1"}[i]},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: []string{"v1", "v2"}[i]}},
		})
	}
	if err := manifest.Default(&benchmark, &profile, &testBed); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(&benchmark, &profile, &testBed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// octets returns the number of bytes of IPv4 packets that the device has received.
func (d *device) octets() (n uint64) {
	d.Helper()
	d.in(d.ns, func() {
		text, err := os.ReadFile("/proc/thread-self/net/netstat")
		if err != nil {
			d.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if fields[0] != "IpExt:" {
				continue
			}
			if names == nil {
				names = fields
				continue
			}
			if n, err = strconv.ParseUint(fields[slices.Index(names, "InOctets")], 10, 64); err != nil {
				d.Fatal(err)
			}
		}
	})
	return n
}
