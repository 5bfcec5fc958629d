package plan

import (
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func ptr[T any](v T) *T { return &v }

// pattern makes a benchmark of a pattern on simulated ports.
func pattern(ports int32, p v1alpha1.Pattern) *objects {
	return router(func(o *objects) {
		simulated(ports)(o)
		o.profile.Spec.Pattern = p
	})
}

// Every pattern in one line per stream: sender, receivers, part, delay, group.
func TestStreamsOfPatterns(t *testing.T) {
	tests := map[string]struct {
		ports   int32
		pattern v1alpha1.Pattern
		want    []string
	}{
		"full mesh": {3, v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}, []string{
			"p1 to p2 /2", "p1 to p3 /2", "p2 to p3 /2", "p2 to p1 /2", "p3 to p1 /2", "p3 to p2 /2"}},
		"one to many": {4, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](1)}}, []string{
			"p1 to p2 /3", "p1 to p3 /3", "p1 to p4 /3"}},
		"many to one": {4, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1", "p2", "p4"}}}, []string{
			"p1 to p3 /3", "p2 to p3 /3", "p4 to p3 /3"}},
		"backbone": {5, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{
			SenderCount: ptr[int32](2), ReceiverCount: ptr[int32](2), Bidirectional: ptr(true)}}, []string{
			"p1 to p3 /2", "p1 to p4 /2", "p2 to p4 /2", "p2 to p3 /2", "p3 to p1 /2", "p3 to p2 /2", "p4 to p2 /2", "p4 to p1 /2"}},
		"named sides": {4, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{
			Senders: []string{"p4"}, Receivers: []string{"p2", "p1"}}}, []string{"p4 to p2 /2", "p4 to p1 /2"}},
		"fan-out": {3, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 2}}, []string{
			"p1 to p2 p3 /2 225.1.1.1", "p1 to p2 p3 /2 225.1.1.2"}},
		"fan-out from another port": {3, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Sender: "p2", FirstGroup: "239.1.1.255"}}, []string{
			"p2 to p1 p3 /1 239.1.1.255"}},
		"mixed class": {4, v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{}}, []string{
			"p1 to p2 p3 p4 /2 225.1.1.1", "p1 to p2 /6", "p1 to p3 /6", "p1 to p4 /6"}},
		// m1 u1 m2 u2 m3 u3 ... of RFC 3918 section 4.1, with another ratio.
		"mixed class with a ratio": {3, v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{Sender: "p2", Groups: 3, MulticastFrames: 3, UnicastFrames: 2}}, []string{
			"p2 to p1 p3 /15*3 225.1.1.1", "p2 to p1 /10*2", "p2 to p1 p3 /15*3 225.1.1.2", "p2 to p3 /10*2", "p2 to p1 p3 /15*3 225.1.1.3"}},
		"N to N": {3, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}}, []string{
			"p1 to p2 p3 /2 225.1.1.1", "p2 to p1 p3 /2 64µs 225.1.1.2", "p3 to p1 p2 /2 128µs 225.1.1.3"}},
		"N to N at once": {2, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{FirstGroup: "239.0.0.1", Stagger: &metav1.Duration{}}}, []string{
			"p1 to p2 /1 239.0.0.1", "p2 to p1 /1 239.0.0.2"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustBuild(t, pattern(tc.ports, tc.pattern))
			var got []string
			for i, s := range p.Streams {
				if int(s.ID) != i {
					t.Errorf("stream %d has the ID %d", i, s.ID)
				}
				text := p.Ports[s.Tx].Name + " to"
				for _, rx := range s.Rx {
					text += " " + p.Ports[rx].Name
				}
				text += fmt.Sprintf(" /%d", s.Part)
				if s.Times > 1 {
					text += fmt.Sprintf("*%d", s.Times)
				}
				if s.Delay > 0 {
					text += " " + s.Delay.String()
				}
				if s.Headers.DstIP.IsMulticast() {
					text += " " + s.Headers.DstIP.String()
					if s.Headers.DstIPCount != 1 || s.Gateway.IsValid() {
						t.Errorf("stream %d: %+v", i, s)
					}
				}
				got = append(got, text)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("streams\n%q, want\n%q", got, tc.want)
			}
		})
	}
}

// No pattern sends more to a port than its line rate, nor more from it, and one
// side of every pattern is at line rate.
func TestPatternsDoNotOversubscribe(t *testing.T) {
	for name, p := range map[string]v1alpha1.Pattern{
		"pairs": {Pairs: &v1alpha1.PairsPattern{}}, "full mesh": {FullMesh: &v1alpha1.FullMeshPattern{}},
		"one to many": {PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](1)}},
		"many to few": {PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: ptr[int32](6), Bidirectional: ptr(true)}},
		"mixed class": {MixedClass: &v1alpha1.MixedClassPattern{Groups: 3, MulticastFrames: 1, UnicastFrames: 4}},
		"fan-out":     {FanOut: &v1alpha1.FanOutPattern{Groups: 7}}, "N to N": {NToN: &v1alpha1.NToNPattern{}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := mustBuild(t, pattern(8, p))
			line := frame.Rate(100_000_000_000, 64, v1alpha1.PPM)
			full := false
			for i := range plan.Ports {
				sends, gets := frame.Rate(1, 64, 0), frame.Rate(1, 64, 0)
				for _, s := range plan.Streams {
					if s.Tx == i {
						sends.Add(sends, plan.At(Bytes(64)).Rate(s, Share(v1alpha1.PPM)))
					}
					if slices.Contains(s.Rx, i) {
						gets.Add(gets, plan.At(Bytes(64)).Rate(s, Share(v1alpha1.PPM)))
					}
				}
				if sends.Cmp(line) > 0 || gets.Cmp(line) > 0 {
					t.Errorf("port %d sends %s and gets %s frames/s", i, sends.FloatString(1), gets.FloatString(1))
				}
				full = full || sends.Cmp(line) == 0 || gets.Cmp(line) == 0
			}
			if !full {
				t.Error("no port is at line rate")
			}
		})
	}
}

// In every turn of a full mesh all ports send to different ones.
func TestFullMeshTurns(t *testing.T) {
	p := mustBuild(t, pattern(256, v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}))
	if len(p.Streams) != 65_280 {
		t.Fatalf("%d streams of 256 ports, want 65280", len(p.Streams))
	}
	turns := map[int][]Stream{}
	for _, s := range p.Streams {
		turns[s.Tx] = append(turns[s.Tx], s)
	}
	for k := range 255 {
		met := map[int]bool{}
		for i := range p.Ports {
			met[turns[i][k].Rx[0]] = true
		}
		if len(met) != 256 {
			t.Fatalf("in turn %d only %d ports are sent to", k, len(met))
		}
	}
	loads, err := p.At(Bytes(64)).Loads(Share(v1alpha1.PPM))
	if err != nil || len(loads) != 65_280 || loads[0] != loads[65_279] {
		t.Fatalf("%d loads, the first %+v, the last %+v: %v", len(loads), loads[0], loads[65_279], err)
	}
	if total := p.At(Bytes(64)).FramesPerSecond(Share(v1alpha1.PPM)); total.Cmp(frame.Rate(256*100_000_000_000, 64, v1alpha1.PPM)) != 0 {
		t.Errorf("%s frames/s in all", total.FloatString(3))
	}
}

// The published multicast table counts received frames: 255 receivers of 100G, 64
// bytes, 99.994 % of line rate. It was counted with a clock that is 4e-8 off.
func TestMulticastRatesCountReceivers(t *testing.T) {
	const published = 37_944_153_121
	for _, groups := range []int32{1, 4095} {
		p := mustBuild(t, pattern(256, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: groups}}))
		got := frame.Round(p.At(Bytes(64)).FramesPerSecond(Share(999_940)))
		if off := got - published; off > 2000 || off < -2000 {
			t.Errorf("%d groups: %d frames/s, published are %d", groups, got, int64(published))
		}
		streams := p.At(Bytes(64)).Traffic(nil, nil)
		if len(streams) != int(groups) || len(streams[0].RxPorts) != 255 || &streams[0].RxPorts[0] != &streams[groups-1].RxPorts[0] {
			t.Errorf("%d streams, whose receivers are not shared", len(streams))
		}
	}
	p := mustBuild(t, pattern(8, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}}))
	if total := p.At(Bytes(64)).FramesPerSecond(Share(v1alpha1.PPM)); total.Cmp(frame.Rate(8*100_000_000_000, 64, v1alpha1.PPM)) != 0 {
		t.Errorf("N to N: %s frames/s are received", total.FloatString(3))
	}
}

func TestMemberships(t *testing.T) {
	p := mustBuild(t, pattern(3, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 300}}))
	first := netip.MustParseAddr("225.1.1.1")
	want := []traffic.Membership{{Port: "p2", Group: first, Count: 300}, {Port: "p3", Group: first, Count: 300}}
	if got := p.Memberships(); !slices.Equal(got, want) {
		t.Errorf("fan-out: %v", got)
	}
	p = mustBuild(t, pattern(3, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}}))
	third := netip.MustParseAddr("225.1.1.3")
	want = []traffic.Membership{
		{Port: "p2", Group: first, Count: 1}, {Port: "p3", Group: first, Count: 2},
		{Port: "p1", Group: first.Next(), Count: 2}, {Port: "p2", Group: third, Count: 1},
	}
	if got := p.Memberships(); !slices.Equal(got, want) {
		t.Errorf("N to N: %v", got)
	}
	if got := mustBuild(t, router(nil)).Memberships(); len(got) > 0 {
		t.Errorf("pairs: %v", got)
	}
}

func TestOffset(t *testing.T) {
	for _, tc := range []struct {
		from string
		n    uint32
		want string
	}{
		{"225.1.1.1", 0, "225.1.1.1"}, {"225.1.1.1", 255, "225.1.2.0"}, {"225.255.255.255", 1, "226.0.0.0"},
		{"255.255.255.255", 1, "invalid IP"}, {"ff1e::ffff:ffff", 1, "ff1e::1:0:0"}, {"225.1.1.1", 1 << 24, "226.1.1.1"},
	} {
		if got := traffic.Above(netip.MustParseAddr(tc.from), tc.n); got.String() != tc.want {
			t.Errorf("%s and %d: %s, want %s", tc.from, tc.n, got, tc.want)
		}
	}
}

func TestHeadersOfPackets(t *testing.T) {
	two := v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}
	build := func(packet v1alpha1.Packet) traffic.Headers {
		o := pattern(2, two)
		o.profile.Spec.Packet, o.profile.Spec.FrameSizes = packet, []int32{128}
		return mustBuild(t, o).Streams[0].Headers
	}
	h := build(v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{HostsPerPort: 100}, VLAN: &v1alpha1.VLANTag{ID: 7, Priority: 5}})
	want := traffic.Headers{
		SrcMAC: firstMAC(0), DstMAC: firstMAC(1), SrcMACCount: 100, DstMACCount: 100, VLANs: frame.VLANs{{ID: 7, Priority: 5}},
	}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("ethernet: %+v", h)
	}
	h = build(v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}, DSCP: ptr[int32](46), MPLS: &v1alpha1.MPLSStack{Labels: []int32{16, 1048575}}})
	if h.TrafficClass != 46<<2 || !slices.Equal(h.Labels, []uint32{16, 1048575}) || h.SrcPort != 20001 || h.DstPort != 9 {
		t.Errorf("ipv4: %+v", h)
	}
	if h = build(v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}, IPPrecedence: ptr[int32](7)}); h.TrafficClass != 7<<5 {
		t.Errorf("ipv6: %+v", h)
	}
}

// Hardware addresses are of single stations, locally administered, the same in
// every run, and no two ports share one.
func TestHardwareAddresses(t *testing.T) {
	owner := map[traffic.MAC]int{}
	first := map[byte]bool{}
	for port := range 1024 {
		base := firstMAC(port)
		if base[0]&0b11 != 0b10 || base != firstMAC(port) {
			t.Fatalf("port %d begins at %s", port, base)
		}
		first[base[0]] = true
		for n := range uint32(100) {
			mac := base.Nth(n)
			if before, taken := owner[mac]; taken {
				t.Fatalf("ports %d and %d share %s", before, port, mac)
			}
			owner[mac] = port
		}
	}
	if len(first) < 32 {
		t.Errorf("only %d first octets of 64 were met", len(first))
	}
}

// A burst is divided as the load is: of 100 frames a quarter is multicast, and no frame
// is missing or too much.
func TestBurstOfClasses(t *testing.T) {
	p := mustBuild(t, pattern(4, v1alpha1.Pattern{MixedClass: &v1alpha1.MixedClassPattern{Groups: 2, UnicastFrames: 3}}))
	for frames, multicast := range map[int64]uint64{100: 25, 8: 2, 7: 2, 1: 1} {
		loads, _, err := p.At(Bytes(64)).Burst(v1alpha1.PPM, frames)
		if err != nil {
			t.Fatal(err)
		}
		var all, groups uint64
		for _, s := range p.Streams {
			all += loads[s.ID].Frames
			if s.Headers.DstIP.IsMulticast() {
				groups += loads[s.ID].Frames
			}
		}
		if all != uint64(frames) || groups+1 < multicast || groups > multicast+1 {
			t.Errorf("%d frames: %d, of which %d are multicast, want about %d", frames, all, groups, multicast)
		}
	}
}

// Rates of a mixed pattern keep the ratio of the classes at every load, and fit.
func TestRatesOfClasses(t *testing.T) {
	for _, m := range []v1alpha1.MixedClassPattern{{}, {Groups: 6}, {Groups: 4095, MulticastFrames: 99, UnicastFrames: 100}, {Groups: 60_000, MulticastFrames: 100, UnicastFrames: 97}} {
		p := mustBuild(t, pattern(8, v1alpha1.Pattern{MixedClass: &m}))
		for _, ppm := range []int64{1, 333_333, 999_940, v1alpha1.PPM} {
			if _, err := p.At(Bytes(64)).Loads(Share(ppm)); err != nil {
				t.Fatalf("%+v at %d ppm: %v", m, ppm, err)
			}
			classes := map[bool]*big.Rat{true: new(big.Rat), false: new(big.Rat)}
			for _, s := range p.Streams {
				sum := classes[s.Headers.DstIP.IsMulticast()]
				sum.Add(sum, p.At(Bytes(64)).Rate(s, Share(ppm)))
			}
			ratio := new(big.Rat).Quo(classes[true], classes[false])
			if want := big.NewRat(int64(max(m.MulticastFrames, 1)), int64(max(m.UnicastFrames, 1))); ratio.Cmp(want) != 0 {
				t.Errorf("%+v at %d ppm: the ratio is %s, want %s", m, ppm, ratio, want)
			}
		}
	}
}

func TestBurstOfStaggeredPorts(t *testing.T) {
	p := mustBuild(t, pattern(3, v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}}))
	loads, took, err := p.At(Bytes(64)).Burst(v1alpha1.PPM, 2000)
	if err != nil || loads[2].Frames != 1000 || loads[2].Delay != 128*time.Microsecond {
		t.Fatalf("%+v, %v", loads, err)
	}
	// 1000 frames at half of line rate take 13.44 us after the delay.
	if want := 128*time.Microsecond + 13440*time.Nanosecond; took != want {
		t.Errorf("took %s, want %s", took, want)
	}
}
