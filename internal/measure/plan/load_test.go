package plan

import (
	"math/big"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A rate is that of every sending port, to the frame, whatever its speed.
func TestLoadsThatAreRates(t *testing.T) {
	o := router(mixed(simple))
	o.bed.Spec.Ports[1].Speed = "25G"
	p := mustBuild(t, o)
	mix := mixOf(p)
	tests := map[string]struct {
		load v1alpha1.Load
		size Size
		// want is frames/s of both ports together, and ppm their part of line rate.
		want *big.Rat
		ppm  int64
	}{
		// 10^6 frames of 84 bytes on the wire are 0.672 of 10G + 25G.
		"frames/s":          {"1Mpps", Bytes(64), big.NewRat(2_000_000, 1), 38_400},
		"bit/s":             {"1.2144Gbps", Bytes(1518), big.NewRat(200_000, 1), 70_309},
		"one frame/s":       {"1pps", Bytes(64), big.NewRat(2, 1), 1},
		"frames/s of a mix": {"12kpps", mix, big.NewRat(24_000, 1), 2_051},
		// 4246 bytes in each round of 12 frames.
		"bit/s of a mix": {"339680bps", mix, big.NewRat(240, 1), 21},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			amount, err := AmountOf(tc.load)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.At(tc.size).FramesPerSecond(amount); got.Cmp(tc.want) != 0 {
				t.Errorf("%s frames/s, want %s", got.RatString(), tc.want.RatString())
			}
			if got := p.At(tc.size).PPM(amount); got != tc.ppm {
				t.Errorf("%d ppm of line rate, want %d", got, tc.ppm)
			}
			loads, err := p.At(tc.size).Loads(amount)
			if err != nil {
				t.Fatal(err)
			}
			sum := new(big.Rat)
			for _, l := range loads {
				sum.Add(sum, l.Rate.FramesPerSecond())
			}
			if sum.Cmp(tc.want) != 0 {
				t.Errorf("streams send %s frames/s, want %s", sum.RatString(), tc.want.RatString())
			}
		})
	}
}

func TestStepsOfLoadsThatAreRates(t *testing.T) {
	p := mustBuild(t, router(func(o *objects) {
		o.benchmark.Spec.Tests = o.benchmark.Spec.Tests[1:]
		o.benchmark.Spec.Tests[0].Latency.Loads = []v1alpha1.Load{"744047pps", "50%"}
	}))
	s := p.Steps[0]
	if s.Name() != "latency 64 B at 744047pps" || s.Amount.FramesPerSecond != 744_047 || s.LoadPPM != 50_000 {
		t.Errorf("%s: %+v, %d ppm", s.Name(), s.Amount, s.LoadPPM)
	}
}

func TestValidateRefusesRatesBeyondLineRate(t *testing.T) {
	refusal(t, router(func(o *objects) {
		o.benchmark.Spec.Tests[1].Latency.Loads = []v1alpha1.Load{"5Mpps"}
	}), []string{`spec.tests[1].latency.loads[0]: Invalid value: "5Mpps": it is 615.2% of the line rate of port p1 (10G) with 1518 bytes: lower it, or use a profile without that size`})
	refusal(t, router(func(o *objects) {
		o.benchmark.Spec.Tests[1].Latency.Loads = []v1alpha1.Load{"0Gbps"}
	}), []string{`spec.tests[1].latency.loads[0]: Invalid value: "0Gbps"`, "such as 5Mpps or 2.5Gbps, or the word throughput"})
}
