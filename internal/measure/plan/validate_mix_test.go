package plan

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// weighted is a mix of frames of 64 bytes and what is given.
func weighted(more ...v1alpha1.FrameWeight) v1alpha1.FrameMix {
	return v1alpha1.FrameMix{Name: "mix", Weights: append([]v1alpha1.FrameWeight{{FrameSize: 64, Weight: 7}}, more...)}
}

func TestValidateRefusesMixes(t *testing.T) {
	const at = "TrafficProfile/profile.spec.frameMixes[0]"
	var many []v1alpha1.FrameWeight
	for i := range int32(32) {
		many = append(many, v1alpha1.FrameWeight{FrameSize: 100 + i, Weight: 1})
	}
	tests := map[string]struct {
		mixes  []v1alpha1.FrameMix
		change func(*objects)
		want   []string
	}{
		"no name":      {[]v1alpha1.FrameMix{{Genome: "a"}}, nil, []string{at + ".name: Required value: give the mix a name"}},
		"same name":    {[]v1alpha1.FrameMix{simple, simple}, nil, []string{`TrafficProfile/profile.spec.frameMixes[1].name: Duplicate value: "simple"`}},
		"empty":        {[]v1alpha1.FrameMix{{Name: "mix"}}, nil, []string{at + ": Required value: give exactly one of weights, genome and imix"}},
		"two forms":    {[]v1alpha1.FrameMix{{Name: "mix", Genome: "a", IMIX: v1alpha1.IMIXSimple}}, nil, []string{at + ": Required value: give exactly one of weights, genome and imix"}},
		"unknown name": {[]v1alpha1.FrameMix{{Name: "mix", IMIX: "Complex"}}, nil, []string{at + `.imix: Unsupported value: "Complex"`, `"Simple"`}},
		"weight 0":     {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{FrameSize: 570})}, nil, []string{at + ".weights[1].weight: Invalid value: 0: give 1 to 1000, or leave the size out"}},
		"weight 1001":  {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{FrameSize: 570, Weight: 1001})}, nil, []string{at + ".weights[1].weight: Invalid value: 1001: give 1 to 1000"}},
		"no size":      {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{Weight: 1})}, nil, []string{at + ".weights[1]: Required value: give exactly one of frameSize and packetSize"}},
		"two sizes":    {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{FrameSize: 64, PacketSize: 46, Weight: 1})}, nil, []string{at + ".weights[1]: Required value: give exactly one of frameSize and packetSize"}},
		"small frame":  {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{FrameSize: 63, Weight: 1})}, nil, []string{at + ".weights[1].frameSize: Invalid value: 63: this makes frames of 63 bytes, and these headers need at least 64 (14 Ethernet, 20 IPv4, 8 UDP, 18 signature, 4 FCS): change the frame size"}},
		"large frame":  {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{FrameSize: 9217, Weight: 1})}, nil, []string{at + ".weights[1].frameSize: Invalid value: 9217: this makes frames of 9217 bytes, and the largest frame is 9216"}},
		"large packet": {[]v1alpha1.FrameMix{weighted(v1alpha1.FrameWeight{PacketSize: 9199, Weight: 1})}, nil, []string{at + ".weights[1].packetSize: Invalid value: 9199: this makes frames of 9217 bytes"}},
		"small IPv6 packet": {[]v1alpha1.FrameMix{{Name: "mix", Weights: []v1alpha1.FrameWeight{{PacketSize: 40, Weight: 1}}}}, ipv6, []string{
			at + ".weights[0].packetSize: Invalid value: 40: this makes frames of 64 bytes, and these headers need at least 86 (14 Ethernet, 40 IPv6, 8 UDP, 20 signature, 4 FCS): change the packet size"}},
		"small IPv6 genome": {[]v1alpha1.FrameMix{{Name: "mix", Genome: "bab"}}, ipv6, []string{at + `.genome: Invalid value: "bab": this makes frames of 64 bytes`, "leave out the letter a, or give weights of larger sizes"}},
		"small IPv6 imix":   {[]v1alpha1.FrameMix{simple}, ipv6, []string{at + `.imix: Invalid value: "Simple": this makes frames of 64 bytes`, "give weights of larger sizes"}},
		"unknown letter":    {[]v1alpha1.FrameMix{{Name: "mix", Genome: "aajk"}}, nil, []string{at + `.genome: Invalid value: "aajk": 'j' is no size of RFC 6985 that can be sent: use a to i and z, or give other sizes as weights`, `'k' is no size`}},
		"z without MTU":     {[]v1alpha1.FrameMix{{Name: "mix", Genome: "az"}}, nil, []string{at + ".mtu: Required value: the letter z of the genome stands for the MTU (RFC 6985): give mtu"}},
		"MTU without z":     {[]v1alpha1.FrameMix{{Name: "mix", Genome: "ag", MTU: 1500}}, nil, []string{at + ".mtu: Invalid value: 1500: only the letter z of a genome uses it"}},
		"MTU of weights":    {[]v1alpha1.FrameMix{{Name: "mix", Weights: weighted().Weights, MTU: 1500}}, nil, []string{at + ".mtu: Invalid value: 1500"}},
		"MTU too large":     {[]v1alpha1.FrameMix{{Name: "mix", Genome: "az", MTU: 9199}}, nil, []string{at + ".mtu: Invalid value: 9199: this makes frames of 9217 bytes, and the largest frame is 9216: change mtu"}},
		"too many sizes":    {[]v1alpha1.FrameMix{weighted(many...)}, nil, []string{at + ".weights: Too many: 33: must have at most 32 items"}},
		"genome too long":   {[]v1alpha1.FrameMix{{Name: "mix", Genome: strings.Repeat("a", 257)}}, nil, []string{at + ".genome: Too long"}},
		"too many mixes":    {make([]v1alpha1.FrameMix, 17), nil, []string{"TrafficProfile/profile.spec.frameMixes: Too many: 17: must have at most 16 items"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := router(mixed(tc.mixes...))
			if tc.change != nil {
				tc.change(o)
			}
			refusal(t, o, tc.want)
		})
	}
}

func ipv6(o *objects) {
	o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}
	o.profile.Spec.FrameSizes = nil
}

// What is accepted can be sent exactly at every load.
func TestValidateAcceptsMixes(t *testing.T) {
	o := router(mixed(simple,
		v1alpha1.FrameMix{Name: "internet", Weights: []v1alpha1.FrameWeight{
			{PacketSize: 40, Weight: 56}, {PacketSize: 1500, Weight: 23}, {PacketSize: 576, Weight: 17}, {PacketSize: 52, Weight: 5}}},
		v1alpha1.FrameMix{Name: "genome", Genome: "aaafghz", MTU: 9000}))
	o.bed.Spec.Ports[0].Speed, o.bed.Spec.Ports[1].Speed = "999983M", "800G"
	p := built(t, o)
	for _, size := range p.Sizes {
		for _, ppm := range []int64{1, 7, 333_333, 999_983, 1_000_000} {
			if _, err := p.At(size).Loads(Share(ppm)); err != nil {
				t.Errorf("%s at %d ppm: %v", size.Name(), ppm, err)
			}
		}
	}
}

func TestValidateRefusesMixesThatTheEngineDoesNotSend(t *testing.T) {
	o := router(mixed(simple))
	simulated(256)(o)
	ports, _ := Ports(&o.bed)
	errs := validateMixesOn(&o.benchmark, Sections(&o.profile)[0], &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 767, MaxFrameSize: 1514}, MinFrameSize: 64})
	want := []string{
		"the mix has frames of 1518 bytes, and engine sim of test bed bed sends 64 to 1514: change the mix",
		"the 3 sizes of the mix make 768 streams on the 256 ports of test bed bed, and engine sim takes at most 767: use fewer sizes, or a bed with fewer ports",
	}
	if len(errs) != len(want) {
		t.Fatalf("errors %v", errs)
	}
	for i, e := range errs {
		if !strings.Contains(e.Error(), want[i]) {
			t.Errorf("error %q has no %q", e, want[i])
		}
	}
	if errs := validateMixesOn(&o.benchmark, Sections(&o.profile)[0], &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 768, MaxFrameSize: 1518}, MinFrameSize: 64}); len(errs) > 0 {
		t.Errorf("errors %v", errs)
	}
}

// Where a port divides its load among many streams, the numbers of a mix of large
// weights no longer fit into those of a schedule.
func TestValidateRefusesRatiosThatCannotBeKept(t *testing.T) {
	mix := v1alpha1.FrameMix{Name: "mix"}
	for i := range int32(32) {
		mix.Weights = append(mix.Weights, v1alpha1.FrameWeight{FrameSize: 9216 - i, Weight: 1000 - i})
	}
	o := router(mixed(mix))
	o.bed.Spec.Ports[0].Speed = "999983M"
	p := built(t, o)
	if speed, ok := inexact(*mixOf(p).Mix, p.Streams, p.Ports, 1); !ok {
		t.Errorf("refused at %s, and fits", speed)
	}
	if _, err := p.At(mixOf(p)).Loads(Share(999_983)); err != nil {
		t.Error(err)
	}
	p.Streams[0].Part = 9
	if speed, ok := inexact(*mixOf(p).Mix, p.Streams, p.Ports, 1); ok || speed != "999983M" {
		t.Errorf("%s %t", speed, ok)
	}
	if _, err := p.At(mixOf(p)).Loads(Share(999_983)); err == nil {
		t.Error("it fits all the same: the bound is too low")
	}
}

// A method that sends every stream twice needs as many more of them.
func TestValidateCountsTheCopiesOfAMethod(t *testing.T) {
	before := methods
	t.Cleanup(func() { methods = before })
	Register(Method{Member: "recovery", Mixes: true, Copies: 2, Given: func(t v1alpha1.Test) bool { return t.Recovery != nil }})
	o := router(mixed(simple))
	ports, _ := Ports(&o.bed)
	engine := traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 11, MaxFrameSize: 1518}, MinFrameSize: 64}
	if errs := validateMixesOn(&o.benchmark, Sections(&o.profile)[0], &o.bed, ports, engine); len(errs) > 0 {
		t.Errorf("6 streams: %v", errs)
	}
	o.benchmark.Spec.Tests = append(o.benchmark.Spec.Tests, v1alpha1.Test{Name: "recovery", Recovery: &v1alpha1.RecoveryTest{}})
	errs := validateMixesOn(&o.benchmark, Sections(&o.profile)[0], &o.bed, ports, engine)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "the 3 sizes of the mix make 12 streams on the 2 ports of test bed bed, and engine xdp takes at most 11") {
		t.Errorf("12 streams: %v", errs)
	}
}
