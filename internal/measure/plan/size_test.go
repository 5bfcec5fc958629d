package plan

import (
	"math/big"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

var simple = v1alpha1.FrameMix{Name: "simple", IMIX: v1alpha1.IMIXSimple}

// mixed gives the profile these mixes.
func mixed(mixes ...v1alpha1.FrameMix) func(*objects) {
	return func(o *objects) { o.profile.Spec.FrameMixes = mixes }
}

func built(t *testing.T, o *objects) Plan {
	t.Helper()
	o.complete()
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSizesThatAreTested(t *testing.T) {
	tests := map[string]struct {
		sizes []int32
		mixes []v1alpha1.FrameMix
		want  string
	}{
		"nothing given":  {nil, nil, "64 B, 128 B, 256 B, 512 B, 1024 B, 1280 B, 1518 B"},
		"only mixes":     {nil, []v1alpha1.FrameMix{simple}, "mix simple"},
		"an empty list":  {[]int32{}, []v1alpha1.FrameMix{simple}, "mix simple"},
		"sizes":          {[]int32{64}, nil, "64 B"},
		"sizes and then": {[]int32{1518, 64}, []v1alpha1.FrameMix{simple, {Name: "aaafg", Genome: "aaafg"}}, "1518 B, 64 B, mix simple, mix aaafg"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := router(mixed(tc.mixes...))
			o.profile.Spec.FrameSizes = tc.sizes
			o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[:1]
			var got []string
			for _, s := range built(t, o).Steps {
				got = append(got, s.Size.Name())
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("sizes %s, want %s", text, tc.want)
			}
		})
	}
}

func TestAMixIsOneStepInPlaceOfASize(t *testing.T) {
	p := built(t, router(mixed(simple)))
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Name())
	}
	want := "throughput 64 B, throughput 1518 B, throughput mix simple, latency 64 B at 50%, latency 64 B at throughput, " +
		"latency 1518 B at 50%, latency 1518 B at throughput, latency mix simple at 50%, latency mix simple at throughput"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("steps %s\nwant  %s", got, want)
	}
	step := p.Steps[2]
	if step.Size.InWords() != "mix simple" || p.Steps[0].Size.InWords() != "64 bytes" {
		t.Errorf("%q, %q", step.Size.InWords(), p.Steps[0].Size.InWords())
	}
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameMix: "simple"}}
	if step.ID() != row.RowID || p.Steps[0].ID() == row.RowID || p.SizeOf(row) != step.Size {
		t.Errorf("the row of the mix is size %s", p.SizeOf(row).Name())
	}
	row = v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}}
	if step.ID() == row.RowID || p.Steps[0].ID() != row.RowID || p.SizeOf(row) != Bytes(64) {
		t.Errorf("the row of 64 B is size %s", p.SizeOf(row).Name())
	}
}

// Every stream of the plan becomes one per size; their rates stand in the ratio of
// the weights, and what they cost on the wire is the load, to the last bit.
func TestStreamsOfAMix(t *testing.T) {
	o := router(mixed(simple))
	p := built(t, o)
	p.Streams[0].Delay = 64
	if got := p.At(Bytes(1518)).Streams(); len(got) != 2 || got[0].Size != 0 {
		t.Errorf("streams of 1518 B: %+v", got)
	}
	mix := mixOf(p)
	streams := p.At(mix).Streams()
	loads, err := p.At(mix).Loads(Share(333_333))
	if err != nil {
		t.Fatal(err)
	}
	nextHop := map[uint16]traffic.MAC{0: {10}, 1: {11}}
	sent := p.At(mix).Traffic(map[string]traffic.MAC{"p1": {1}, "p2": {2}}, nextHop)
	if len(streams) != 6 || len(loads) != 6 || len(sent) != 6 {
		t.Fatalf("%d streams, %d loads, %d sent: want 3 sizes of 2 streams", len(streams), len(loads), len(sent))
	}
	wire := map[int]*big.Rat{0: new(big.Rat), 1: new(big.Rat)}
	weights := []int64{7, 4, 1}
	unit := loads[2].Rate.FramesPerSecond()
	for i, s := range streams {
		flow := i / 3
		if s.ID != uint16(i) || s.Tx != flow || sent[i].ID != s.ID || sent[i].FrameSize != []int{64, 570, 1518}[i%3] {
			t.Errorf("stream %d: %+v, sent as %+v", i, s, sent[i])
		}
		if sent[i].Headers.DstMAC != nextHop[uint16(flow)] || sent[i].Headers.SrcIP != p.Streams[flow].Headers.SrcIP {
			t.Errorf("stream %d goes to %v from %v", i, sent[i].Headers.DstMAC, sent[i].Headers.SrcIP)
		}
		if loads[s.ID].Delay != p.Streams[flow].Delay {
			t.Errorf("stream %d begins after %v", i, loads[s.ID].Delay)
		}
		rate := loads[s.ID].Rate.FramesPerSecond()
		if want := new(big.Rat).Mul(unit, big.NewRat(weights[i%3], 1)); rate.Cmp(want) != 0 {
			t.Errorf("stream %d: %s frames/s, want %s", i, rate, want)
		}
		wire[flow].Add(wire[flow], rate.Mul(rate, big.NewRat(frame.WireBits(sent[i].FrameSize), 1)))
	}
	for flow, got := range wire {
		if want := big.NewRat(3_333_330_000, 1); got.Cmp(want) != 0 {
			t.Errorf("port %d: %s bit/s on the wire, want %s", flow, got, want)
		}
	}
}

func TestRatesOfARowOfAMix(t *testing.T) {
	p := built(t, router(mixed(simple)))
	mix := mixOf(p)
	// Both ports of 10G send 10^10 / 35888 rounds of 12 frames and 4246 bytes.
	frames, bits := p.At(mix).FramesPerSecond(Share(v1alpha1.PPM)), p.At(mix).BitsPerSecond(Share(v1alpha1.PPM))
	if want := big.NewRat(2*12*tenG, 35_888); frames.Cmp(want) != 0 {
		t.Errorf("%s frames/s, want %s", frames, want)
	}
	if want := big.NewRat(2*8*4246*tenG, 35_888); bits.Cmp(want) != 0 {
		t.Errorf("%s bit/s, want %s", bits, want)
	}
	if got := mix.Average(); got != 354 {
		t.Errorf("average size %d, want 354", got)
	}
	if _, _, err := p.At(mix).Burst(v1alpha1.PPM, 100); err == nil {
		t.Error("a burst of a mix was planned")
	}
}

// mixOf is the last size of a plan, which is a mix.
func mixOf(p Plan) Size { return p.Sizes[len(p.Sizes)-1] }

const tenG = 10_000_000_000

// A port that divides its load among many streams keeps the ratio as exactly.
func TestPartsOfAMix(t *testing.T) {
	p := built(t, router(mixed(simple)))
	p.Streams[0].Part, p.Streams[1].Part, p.Streams[1].Tx = 2, 2, 0
	if got, want := p.At(mixOf(p)).FramesPerSecond(Share(v1alpha1.PPM)), big.NewRat(12*tenG, 35_888); got.Cmp(want) != 0 {
		t.Errorf("%s frames/s, want %s", got, want)
	}
}
