package xdp

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Flows of a profile of different size, share, VLAN and direction cross a cable in the
// numbers of frames that their shares of the load are, to the frame.
func TestFlowsOverACable(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	p := flowsPlan(t)
	size := p.Sizes[0]
	streams := p.At(size).Traffic(nil, map[uint16]traffic.MAC{0: p.Streams[0].Headers.DstMAC, 1: p.Streams[1].Headers.DstMAC})
	// Of 100M at 20 %: 60 % of it in frames of 230 bytes, which are 2,000 bits with their
	// gap, are 6,000 frames/s, and 25 % in frames of 605 bytes, of 5,000 bits, are 1,000.
	loads, err := p.At(size).Loads(plan.Share(200_000))
	if err != nil {
		t.Fatal(err)
	}
	const took = time.Second
	for id, load := range loads {
		// What the rate makes in that time is the number to send, so that a busy machine
		// changes nothing.
		load.Frames = intended(load, took)
		loads[id] = load
	}
	m := bed.run(e, streams, traffic.Trial{Loads: loads}, arrived)
	want := map[string]struct {
		from, to string
		size     int
		frames   uint64
		vlan     uint16
	}{"down": {"p1", "p2", 230, 6000, 100}, "up": {"p2", "p1", 605, 1000, 200}}
	if len(streams) != len(want) {
		t.Fatalf("%d streams, want one per flow", len(streams))
	}
	for _, s := range streams {
		w, tx, rx := want[s.Class], m.Tx[s.ID], m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
		if s.TxPort != w.from || s.RxPorts[0] != w.to || s.FrameSize != w.size || s.Headers.VLANs[0].ID != w.vlan {
			t.Errorf("flow %s is %+v, want %+v", s.Class, s, w)
		}
		if tx.Sent != w.frames || rx.Received != w.frames || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("flow %s: sent %d, received %d, duplicate %d, reordered %d: want %d", s.Class, tx.Sent, rx.Received, rx.Duplicate, rx.Reordered, w.frames)
		}
		checkLatency(t, rx)
	}
	if len(m.Damaged)+len(m.Misdelivered) > 0 {
		t.Errorf("damaged %v, misdelivered %v", m.Damaged, m.Misdelivered)
	}
}

// flowsPlan plans two flows between two ports of 100M.
func flowsPlan(t *testing.T) plan.Plan {
	t.Helper()
	flow := func(name, from, to string, share v1alpha1.Percentage, size, vlan int32, payload v1alpha1.PayloadPattern) v1alpha1.TrafficFlow {
		return v1alpha1.TrafficFlow{
			Name: name, Share: share, FrameSize: &size,
			Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{from}, Receivers: []string{to}}},
			Packet:  v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}, VLAN: &v1alpha1.VLANTag{ID: vlan}, Payload: payload},
		}
	}
	var benchmark v1alpha1.Benchmark
	benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	var profile v1alpha1.TrafficProfile
	profile.Spec.Flows = []v1alpha1.TrafficFlow{
		flow("down", "p1", "p2", "60%", 230, 100, v1alpha1.PayloadRandom),
		flow("up", "p2", "p1", "25%", 605, 200, ""),
	}
	var testBed v1alpha1.TestBed
	testBed.Spec.Engine.Kind = v1alpha1.EngineXDP
	for _, name := range []string{"p1", "p2"} {
		testBed.Spec.Ports = append(testBed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "here", Speed: "100M",
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "v" + name[1:]}},
		})
	}
	if err := manifest.Default(&benchmark, &profile, &testBed); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(&benchmark, &profile, &testBed)
	if err != nil {
		t.Fatal(err)
	}
	if p.Sizes[0].Average() < frame.EthernetMinSize {
		t.Fatalf("the mean size is %d", p.Sizes[0].Average())
	}
	return p
}
