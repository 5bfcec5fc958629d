package traffic_test

import (
	"math/big"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func TestRateKeepsEveryRateExact(t *testing.T) {
	for _, speed := range []v1alpha1.BitRate{"1M", "10M", "1G", "10G", "25G", "100G", "400G", "800G", "999999G"} {
		bits, err := speed.BitsPerSecond()
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{64, 65, 86, 127, 1518, 9215, 9216} {
			for _, ppm := range []int64{1, 7, 696_875, 999_999, 1_000_000} {
				want := frame.Rate(bits, size, ppm)
				rate, err := traffic.RateOf(want)
				if err != nil {
					t.Fatalf("%s %d B %d ppm: %v", speed, size, ppm, err)
				}
				if got := rate.FramesPerSecond(); got.Cmp(want) != 0 {
					t.Errorf("%s %d B %d ppm: %s, want %s", speed, size, ppm, got, want)
				}
			}
		}
	}
}

func TestRateRefusesWhatDoesNotFit(t *testing.T) {
	if _, err := traffic.RateOf(new(big.Rat)); err == nil {
		t.Error("a rate of 0 was accepted")
	}
	huge := new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), 120), big.NewInt(7))
	if _, err := traffic.RateOf(huge); err == nil {
		t.Error("a rate beyond 64 bits was accepted")
	}
}
