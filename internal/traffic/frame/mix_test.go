package frame

import (
	"math/big"
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func TestMixOf(t *testing.T) {
	frames := func(size, weight int32) v1alpha1.FrameWeight {
		return v1alpha1.FrameWeight{FrameSize: size, Weight: weight}
	}
	packets := func(size, weight int32) v1alpha1.FrameWeight {
		return v1alpha1.FrameWeight{PacketSize: size, Weight: weight}
	}
	tests := map[string]struct {
		mix  v1alpha1.FrameMix
		want Mix
	}{
		"by name":                  {v1alpha1.FrameMix{IMIX: v1alpha1.IMIXSimple}, Mix{{64, 7}, {570, 4}, {1518, 1}}},
		"weights":                  {v1alpha1.FrameMix{Weights: []v1alpha1.FrameWeight{frames(1518, 1), frames(64, 7), frames(570, 4)}}, Mix{{64, 7}, {570, 4}, {1518, 1}}},
		"a common divisor":         {v1alpha1.FrameMix{Weights: []v1alpha1.FrameWeight{frames(64, 70), frames(570, 40), frames(1518, 10)}}, Mix{{64, 7}, {570, 4}, {1518, 1}}},
		"IP packets":               {v1alpha1.FrameMix{Weights: []v1alpha1.FrameWeight{packets(40, 56), packets(1500, 23), packets(576, 17), packets(52, 5)}}, Mix{{64, 56}, {70, 5}, {594, 17}, {1518, 23}}},
		"equal on the wire":        {v1alpha1.FrameMix{Weights: []v1alpha1.FrameWeight{packets(40, 2), packets(46, 1), frames(64, 3), frames(128, 4)}}, Mix{{64, 3}, {128, 2}}},
		"example of RFC 6985":      {v1alpha1.FrameMix{Genome: "aaafg"}, Mix{{64, 3}, {1280, 1}, {1518, 1}}},
		"the order does not count": {v1alpha1.FrameMix{Genome: "gafaa"}, Mix{{64, 3}, {1280, 1}, {1518, 1}}},
		"all letters":              {v1alpha1.FrameMix{Genome: "abcdefghiz", MTU: 9000}, Mix{{64, 1}, {128, 1}, {256, 1}, {512, 1}, {1024, 1}, {1280, 1}, {1518, 1}, {2112, 1}, {9000, 1}, {9018, 1}}},
		"an MTU that is a letter":  {v1alpha1.FrameMix{Genome: "agz", MTU: 1500}, Mix{{64, 1}, {1518, 2}}},
		"one size":                 {v1alpha1.FrameMix{Genome: "aaaa"}, Mix{{64, 1}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MixOf(tc.mix); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// Twelve frames of 7:4:1 are 7*64 + 4*570 + 1518 = 4246 bytes, and 240 more on the
// wire.
func TestRatesOfAMixFillTheLineExactly(t *testing.T) {
	m := MixOf(v1alpha1.FrameMix{IMIX: v1alpha1.IMIXSimple})
	if m.Frames() != 12 || m.WireBits() != 8*(4246+240) {
		t.Errorf("%d frames, %d bits", m.Frames(), m.WireBits())
	}
	if want := big.NewRat(4246, 12); m.Average().Cmp(want) != 0 {
		t.Errorf("average %s, want %s", m.Average(), want)
	}
	const speed = 100_000_000_000
	for _, ppm := range []int64{1, 333_333, 999_940, 1_000_000} {
		wire := new(big.Rat)
		for _, c := range m {
			rate := m.Rate(speed, c.Weight, ppm)
			if ratio := new(big.Rat).Quo(rate, m.Rate(speed, 1, ppm)); ratio.Cmp(big.NewRat(c.Weight, 1)) != 0 {
				t.Errorf("%d B at %d ppm: %s frames for one", c.Size, ppm, ratio)
			}
			wire.Add(wire, rate.Mul(rate, big.NewRat(WireBits(c.Size), 1)))
		}
		if want := big.NewRat(speed/1_000_000*ppm, 1); wire.Cmp(want) != 0 {
			t.Errorf("%d ppm: %s bit/s on the wire, want %s", ppm, wire, want)
		}
	}
}
