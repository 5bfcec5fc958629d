package frame

import (
	"math/big"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The figures are the line rates of 256 ports of 100G at published shares.
func TestAggregateRateIsExactUntilPrinted(t *testing.T) {
	tests := map[string]struct {
		size          int
		ppm           int64
		frames, tbits string
	}{
		"64 B at 69.6875 %":  {64, 696_875, "26547619048", "13.592"},
		"128 B at 99.994 %":  {128, 999_940, "21620324324", "22.139"},
		"256 B at 99.994 %":  {256, 999_940, "11593507246", "23.744"},
		"9216 B at 99.994 %": {9216, 999_940, "346449545", "25.543"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			total := new(big.Rat)
			for range 256 {
				total.Add(total, Rate(100_000_000_000, tc.size, tc.ppm))
			}
			if got := total.FloatString(0); got != tc.frames {
				t.Errorf("%s frames/s, want %s", got, tc.frames)
			}
			tera := new(big.Rat).Quo(BitRate(total, tc.size), big.NewRat(1_000_000_000_000, 1))
			if got := tera.FloatString(3); got != tc.tbits {
				t.Errorf("%s Tbit/s, want %s", got, tc.tbits)
			}
		})
	}
}

func TestRound(t *testing.T) {
	for text, want := range map[string]int64{"1/2": 1, "-1/2": -1, "1/3": 0, "5/2": 3, "7": 7, "18583333333/7": 2654761905} {
		r, _ := new(big.Rat).SetString(text)
		if got := Round(r); got != want {
			t.Errorf("Round(%s) = %d, want %d", text, got, want)
		}
	}
}

func TestMinimumSize(t *testing.T) {
	if got := MinimumSize(v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}); got != 64 {
		t.Errorf("IPv4/UDP needs %d bytes, want 64", got)
	}
	if got := MinimumSize(v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{}}); got != 86 {
		t.Errorf("IPv6/UDP needs %d bytes, want 86", got)
	}
}
