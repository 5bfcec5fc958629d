package plan

import (
	"fmt"
	"math/big"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// down and up are flows of different share, size, tags and direction.
func down() v1alpha1.TrafficFlow {
	return v1alpha1.TrafficFlow{
		Name: "down", Share: "60%", FrameSize: ptr[int32](1500),
		Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2"}}},
		Packet:  v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}, VLAN: &v1alpha1.VLANTag{ID: 100, Priority: 5}, DSCP: ptr[int32](46)},
	}
}

func up() v1alpha1.TrafficFlow {
	return v1alpha1.TrafficFlow{
		Name: "up", Share: "12.5%",
		Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p2"}, Receivers: []string{"p1"}}},
		Packet:  v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{HostsPerPort: 3}, Payload: v1alpha1.PayloadOnes},
	}
}

func flowing(flows ...v1alpha1.TrafficFlow) func(*objects) {
	return func(o *objects) {
		o.profile.Spec.Pattern, o.profile.Spec.Packet = v1alpha1.Pattern{}, v1alpha1.Packet{}
		o.profile.Spec.FrameSizes, o.profile.Spec.Flows = []int32{128, 512}, flows
		if o.profile.Spec.OwnSizes() {
			o.profile.Spec.FrameSizes = nil
		}
	}
}

// Every flow has its share of the load in frames of its own size and headers, and a mix
// of its own makes further streams.
func TestFlows(t *testing.T) {
	mixed := down()
	mixed.Name, mixed.Share, mixed.FrameSize = "mixed", "40%", nil
	mixed.FrameMix = &v1alpha1.FrameMix{Name: "imix", IMIX: v1alpha1.IMIXSimple}
	mixed.Packet.VLAN = nil
	p := mustBuild(t, router(flowing(down(), mixed, up())))
	if len(p.Streams) != 3 || len(p.Sizes) != 2 {
		t.Fatalf("%d streams of sizes %v", len(p.Streams), p.Sizes)
	}
	d, u := p.Streams[0].Headers, p.Streams[2].Headers
	if len(d.VLANs) != 1 || d.VLANs[0] != (frame.VLAN{ID: 100, Priority: 5}) || d.TrafficClass != 46<<2 || len(u.VLANs) != 0 || u.Payload != frame.Ones || u.SrcIPCount != 3 {
		t.Errorf("headers %+v\nand %+v", d, u)
	}
	const line = 10_000_000_000
	rate := func(size int, share, load *big.Rat) *big.Rat {
		r := big.NewRat(line, frame.WireBits(size))
		return r.Mul(r, share).Mul(r, load)
	}
	for _, size := range p.Sizes {
		load := big.NewRat(1, 2)
		total, octets := new(big.Rat), new(big.Rat)
		bytes := []int{1500, 64, 570, 1518, size.Bytes}
		streams := p.At(size).Streams()
		if len(streams) != len(bytes) {
			t.Fatalf("%d streams at %s", len(streams), size.Name())
		}
		for i, s := range streams {
			got := p.At(size).Rate(s, Share(500_000))
			if s.ID != uint16(i) || s.Size != bytes[i] {
				t.Errorf("stream %d has ID %d and %d bytes, want %d", i, s.ID, s.Size, bytes[i])
			}
			var want *big.Rat
			switch i {
			case 0:
				want = rate(1500, big.NewRat(60, 100), load)
			case 4:
				want = rate(size.Bytes, big.NewRat(125, 1000), load)
			default:
				want = simpleMix(t).Rate(line, []int64{7, 4, 1}[i-1], 200_000)
			}
			if got.Cmp(want) != 0 {
				t.Errorf("stream %d at %s: %v frames/s, want %v", i, size.Name(), got, want)
			}
			total.Add(total, got)
			octets.Add(octets, new(big.Rat).Mul(got, big.NewRat(int64(s.Size), 1)))
		}
		if got := p.At(size).FramesPerSecond(Share(500_000)); got.Cmp(total) != 0 {
			t.Errorf("%v frames/s at %s, want %v", got, size.Name(), total)
		}
		if got := p.At(size).BitsPerSecond(Share(500_000)); got.Cmp(octets.Mul(octets, big.NewRat(8, 1))) != 0 {
			t.Errorf("%v bit/s at %s, want %v", got, size.Name(), octets)
		}
		if got := p.SizeOf(v1alpha1.ResultRow{RowID: v1alpha1.RowID{FrameSize: int32(size.Bytes)}}); got != size {
			t.Errorf("the size of a row of %s is %+v", size.Name(), got)
		}
	}
	all := p.At(p.Sizes[0]).Traffic(nil, nil)
	if got := fmt.Sprintf("%d %d %d %s", all[0].FrameSize, all[3].FrameSize, all[4].FrameSize, all[4].Class); got != "1500 1518 128 up" {
		t.Errorf("streams of the engine: %s", got)
	}
}

func simpleMix(t *testing.T) frame.Mix {
	t.Helper()
	return frame.MixOf(v1alpha1.FrameMix{IMIX: v1alpha1.IMIXSimple})
}

// A profile in which every flow has its own size makes one row.
func TestFlowsOfOwnSizes(t *testing.T) {
	one, other := down(), up()
	other.FrameSize = ptr[int32](100)
	p := mustBuild(t, router(func(o *objects) {
		flowing(one, other)(o)
	}))
	if len(p.Sizes) != 1 || p.Sizes[0].Name() != "flows" || p.Steps[0].ID().FrameMix != v1alpha1.FlowsSize {
		t.Errorf("sizes %v, first row %+v", p.Sizes, p.Steps[0].ID())
	}
}

func TestFlowsAreRefused(t *testing.T) {
	with := func(change func(*v1alpha1.TrafficFlow)) v1alpha1.TrafficFlow {
		f := down()
		f.Name = "more"
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		change func(*objects)
		want   []string
	}{
		"more than line rate": {flowing(down(), with(func(f *v1alpha1.TrafficFlow) { f.Share = "40.01%" })), []string{
			`TrafficProfile/profile.spec.flows: Invalid value: "down, more": at a load of 100% port p1 would send 100.01% of line rate`, "port p2 would receive 100.01%"}},
		"one name twice": {flowing(down(), down()), []string{"flows[1].name: Duplicate value"}},
		"no share":       {flowing(with(func(f *v1alpha1.TrafficFlow) { f.Share = "0%" })), []string{"flows[0].share: Invalid value", "give a percentage above 0%"}},
		"headers of another flow that do not fit": {flowing(down(), with(func(f *v1alpha1.TrafficFlow) {
			f.Share, f.FrameSize, f.Packet = "1%", ptr[int32](80), v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
		})), []string{"flows[1].frameSize: Invalid value: 80: these headers need at least 86 bytes"}},
		"a port that the bed does not have": {flowing(with(func(f *v1alpha1.TrafficFlow) { f.Pattern.PartialMesh.Senders = []string{"p9"} })), []string{"flows[0].pattern.partialMesh.senders[0]", "no port of this name"}},
		"pattern beside flows": {func(o *objects) {
			flowing(down())(o)
			o.profile.Spec.Pattern.Pairs = &v1alpha1.PairsPattern{}
		}, []string{"spec.flows: Forbidden: pattern and packet are those of a profile with one kind of traffic"}},
		"frameSizes of no flow": {func(o *objects) {
			flowing(down())(o)
			o.profile.Spec.FrameSizes = []int32{64}
		}, []string{"spec.flows: Forbidden: every flow has a size of its own"}},
		"hosts of both families": {flowing(up(), with(func(f *v1alpha1.TrafficFlow) { f.Packet.IPv4.HostsPerPort = 2 })), []string{
			"flows[0].packet.ipv6.hostsPerPort: Invalid value: 3: flow more has several hosts of IPv4"}},
		"a rate of several sizes": {func(o *objects) {
			flowing(down(), up())(o)
			o.benchmark.Spec.Tests = []v1alpha1.Test{{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"1kpps"}}}}
		}, []string{"the flows of the profile have sizes of their own", "give a percentage of line rate"}},
	} {
		t.Run(name, func(t *testing.T) { refusal(t, router(tc.change), tc.want) })
	}
}
