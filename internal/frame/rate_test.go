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

func TestScheduleKeepsEveryRateExact(t *testing.T) {
	for _, speed := range []v1alpha1.BitRate{"1M", "10M", "1G", "10G", "25G", "100G", "400G", "800G", "999999G"} {
		bits, err := speed.BitsPerSecond()
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{64, 65, 86, 127, 1518, 9215, 9216} {
			for _, ppm := range []int64{1, 7, 696_875, 999_999, 1_000_000} {
				want := Rate(bits, size, ppm)
				rate, err := Schedule(want)
				if err != nil {
					t.Fatalf("%s %d B %d ppm: %v", speed, size, ppm, err)
				}
				if got := FramesPerSecond(rate); got.Cmp(want) != 0 {
					t.Errorf("%s %d B %d ppm: %s, want %s", speed, size, ppm, got, want)
				}
			}
		}
	}
}

func TestScheduleRefusesWhatDoesNotFit(t *testing.T) {
	if _, err := Schedule(new(big.Rat)); err == nil {
		t.Error("a rate of 0 was accepted")
	}
	huge := new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), 120), big.NewInt(7))
	if _, err := Schedule(huge); err == nil {
		t.Error("a rate beyond 64 bits was accepted")
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
