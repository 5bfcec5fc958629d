package plan

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// objects are a router between two ports with both tests; change edits them.
type objects struct {
	benchmark v1alpha1.Benchmark
	profile   v1alpha1.TrafficProfile
	bed       v1alpha1.TestBed
}

func router(change func(*objects)) *objects {
	port := func(i int) v1alpha1.Port {
		return v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i), Node: "lab-1", Speed: "10G",
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: fmt.Sprintf("nd-p%d", i)}},
			Addresses:  []string{fmt.Sprintf("198.18.%d.2/24", i), fmt.Sprintf("2001:2:0:%d::2/64", i)},
			Gateways:   []string{fmt.Sprintf("198.18.%d.1", i), fmt.Sprintf("2001:2:0:%d::1", i)},
		}
	}
	o := &objects{}
	o.bed.Name, o.profile.Name = "bed", "profile"
	o.bed.Spec = v1alpha1.TestBedSpec{
		Device: v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}},
		Engine: v1alpha1.Engine{Kind: v1alpha1.EngineXDP},
		Ports:  []v1alpha1.Port{port(1), port(2)},
	}
	o.profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64, 1518},
		Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
		Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{HostsPerPort: 1}},
	}
	o.benchmark.Spec = v1alpha1.BenchmarkSpec{
		SettleTime: metav1.Duration{Duration: time.Second}, RestTime: &metav1.Duration{Duration: 3 * time.Second},
		Tests: []v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
			{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%", "throughput"}}},
		},
	}
	if change != nil {
		change(o)
	}
	return o.complete()
}

// complete fills in the API's defaults.
func (o *objects) complete() *objects {
	if err := manifest.Default(&o.benchmark, &o.profile, &o.bed); err != nil {
		panic(err)
	}
	return o
}

func simulated(count int32) func(*objects) {
	return func(o *objects) {
		o.bed.Spec = v1alpha1.TestBedSpec{
			Device: v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}},
			Engine: v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: count, Speed: "100G"}}},
		}
	}
}

func mustBuild(t *testing.T, o *objects) Plan {
	t.Helper()
	o.complete()
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuildMakesOneStepPerRow(t *testing.T) {
	p := mustBuild(t, router(nil))
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Name())
	}
	want := []string{
		"throughput 64 B", "throughput 1518 B",
		"latency 64 B at 50%", "latency 64 B at throughput", "latency 1518 B at 50%", "latency 1518 B at throughput",
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("steps %v, want %v", names, want)
	}
	if s := p.Steps[0]; s.Method != v1alpha1.MethodThroughput || s.Duration != 160*time.Second || s.Search.Overhead != 4*time.Second {
		t.Errorf("step %+v, want 2 minutes of sending, and 1 s to settle and 3 s to rest for each of 10 trials", s)
	}
	if s := p.Steps[2]; s.LoadPPM != 500_000 || s.Duration != 64*time.Second {
		t.Errorf("step %+v, want 50 %% for 60 s, 1 s to settle and 3 s to rest", s)
	}
	if s := p.Steps[3]; s.LoadPPM != 0 || s.Source != "throughput" {
		t.Errorf("step %+v, want the rate of test throughput", s)
	}
	if got := p.Trials(); got != 2*p.Steps[0].Trials+4 {
		t.Errorf("%d trials in all", got)
	}
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: "throughput"}}
	if p.Steps[2].ID() == row.RowID || p.Steps[3].ID() != row.RowID {
		t.Error("a row was matched with the wrong step")
	}
}

func TestStreamsOfPairs(t *testing.T) {
	o := router(func(o *objects) {
		o.profile.Spec.Packet.IPv4.HostsPerPort = 10
		o.profile.Spec.Packet.UDP = &v1alpha1.UDPPacket{
			SourcePorts: &v1alpha1.PortRange{First: 20001, Count: 8000}, DestinationPorts: &v1alpha1.PortRange{First: 7, Count: 1},
		}
	})
	p := mustBuild(t, o)
	if len(p.Streams) != 2 || p.Streams[0].Tx != 0 || p.Streams[0].Rx[0] != 1 || p.Streams[1].Tx != 1 || p.Streams[1].Rx[0] != 0 {
		t.Fatalf("streams %+v, want both directions of one pair", p.Streams)
	}
	h := p.Streams[0].Headers
	if h.SrcIP.String() != "198.18.1.2" || h.DstIP.String() != "198.18.2.2" || h.SrcIPCount != 10 || h.DstIPCount != 10 {
		t.Errorf("addresses %+v", h)
	}
	if h.SrcPort != 20001 || h.SrcPortCount != 8000 || h.DstPort != 7 || h.DstPortCount != 1 {
		t.Errorf("UDP ports %+v", h)
	}
	if hop := p.Streams[0].NextHop(); hop.String() != "198.18.1.1" {
		t.Errorf("next hop %s, want the gateway of the sending port", hop)
	}

	o.profile.Spec.Pattern.Pairs.Bidirectional = new(bool)
	o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
	o.profile.Spec.FrameSizes = []int32{86}
	for i := range o.bed.Spec.Ports { // one layer-2 network
		o.bed.Spec.Ports[i].Gateways = nil
		o.bed.Spec.Ports[i].Addresses = []string{fmt.Sprintf("2001:2::%d/64", i+1)}
	}
	p = mustBuild(t, o)
	if len(p.Streams) != 1 || p.Streams[0].NextHop().String() != "2001:2::2" {
		t.Errorf("streams %+v, want one to the receiver itself", p.Streams)
	}
	if h := p.Streams[0].Headers; h.SrcPort != 20001 || h.DstPort != 9 || h.SrcIPCount != 1 {
		t.Errorf("headers %+v, want the defaults", h)
	}
	streams := p.At(Bytes(86)).Traffic(map[string]traffic.MAC{"p1": {1}, "p2": {2}}, map[uint16]traffic.MAC{0: {9}})
	if s := streams[0]; s.TxPort != "p1" || s.RxPorts[0] != "p2" || s.FrameSize != 86 || s.Headers.SrcMAC != (traffic.MAC{1}) || s.Headers.DstMAC != (traffic.MAC{9}) {
		t.Errorf("traffic %+v", s)
	}
}

func TestSimulatedPortsHaveNetworksOfTheirOwn(t *testing.T) {
	for _, count := range []int32{2, 3, 256, 1000, 1024} {
		o := router(simulated(count))
		ports, errs := Ports(&o.bed)
		if len(errs) > 0 || len(ports) != int(count) || ports[0].Name != "p1" {
			t.Fatalf("%d ports: %v", len(ports), errs)
		}
		for i, p := range ports {
			for _, a := range p.Addresses {
				all := netip.MustParsePrefix("198.18.0.0/15")
				if a.Addr().Is6() {
					all = netip.MustParsePrefix("2001:2::/48")
				}
				if !all.Contains(a.Addr()) || !a.Contains(p.Gateway(a.Addr().Is6())) {
					t.Fatalf("%s has %s with gateway %s", p.Name, a, p.Gateway(a.Addr().Is6()))
				}
				if before, ok := ports[max(i-1, 0)].Address(a.Addr().Is6()); i > 0 && (!ok || before.Overlaps(a)) {
					t.Fatalf("%s overlaps %s", a, before)
				}
			}
		}
		if errs := ValidateBed(&o.bed); len(errs) > 0 {
			t.Errorf("%d ports: %v", count, errs)
		}
	}
}

func TestLoadsAreExactShares(t *testing.T) {
	p := mustBuild(t, router(simulated(256)))
	loads, err := p.At(Bytes(64)).Loads(Share(696_875))
	if err != nil || len(loads) != 256 {
		t.Fatalf("%d loads: %v", len(loads), err)
	}
	want := frame.Rate(100_000_000_000, 64, 696_875)
	for id, l := range loads {
		if l.Rate.FramesPerSecond().Cmp(want) != 0 {
			t.Fatalf("stream %d gets %+v, want %s frames/s", id, l.Rate, want.FloatString(3))
		}
	}
	if total := p.At(Bytes(64)).FramesPerSecond(Share(696_875)); total.FloatString(0) != "26547619048" {
		t.Errorf("%s frames/s in all", total.FloatString(3))
	}
	// Two streams of one port share its load.
	p.Streams[0].Part, p.Streams[1].Part, p.Streams[1].Tx = 2, 2, 0
	if total := p.At(Bytes(64)).FramesPerSecond(Share(1_000_000)); total.Cmp(frame.Rate(255*100_000_000_000, 64, 1_000_000)) != 0 {
		t.Errorf("%s frames/s of 255 ports", total.FloatString(3))
	}
}

func TestHostAddresses(t *testing.T) {
	o := router(func(o *objects) { o.profile.Spec.Packet.IPv4.HostsPerPort = 3 })
	ports, _ := Ports(&o.bed)
	want := "[198.18.1.2/24 2001:2:0:1::2/64 198.18.1.3/24 198.18.1.4/24]"
	if got := fmt.Sprint(ports[0].HostAddresses(&o.profile)); got != want {
		t.Errorf("addresses %s, want %s", got, want)
	}
	o.profile.Spec.Packet.IPv4.HostsPerPort = 0
	if got := len(ports[0].HostAddresses(&o.profile)); got != 2 {
		t.Errorf("%d addresses without further hosts, want 2", got)
	}
}
