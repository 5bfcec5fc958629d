package cost

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// What the documentation claims, with fewer devices: at most half of the
// trial-seconds of MLRsearch at no larger error, and never a load that lost a
// frame in a trial of full length.
func TestInformedCostsHalfOfMLRsearch(t *testing.T) {
	setup := DefaultSetup()
	setup.Seeds = 150
	rows, err := Compare(context.Background(), setup)
	if err != nil {
		t.Fatal(err)
	}
	plain, ours := row(rows, NameMLRsearch), row(rows, NameInformed)
	if plain == nil || ours == nil {
		t.Fatalf("rows are missing: %+v", rows)
	}
	if 2*ours.Seconds > plain.Seconds {
		t.Errorf("%.1f s, more than half of the %.1f s of MLRsearch", ours.Seconds, plain.Seconds)
	}
	if ours.ErrorPPM > plain.ErrorPPM || ours.Error95PPM > plain.Error95PPM {
		t.Errorf("error %.0f and %.0f ppm, MLRsearch %.0f and %.0f", ours.ErrorPPM, ours.Error95PPM, plain.ErrorPPM, plain.Error95PPM)
	}
	for _, r := range rows {
		if strings.HasPrefix(r.Method, NameInformed) && r.Refuted != 0 {
			t.Errorf("%s at %d bytes: %d loads reported lost a frame at full length", r.Method, r.Size, r.Refuted)
		}
		if r.Seconds <= 0 || r.Trials < 2 {
			t.Errorf("%+v", r)
		}
	}
	var b strings.Builder
	if err := Print(&b, setup, rows); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "150 simulated noisy devices") || !strings.Contains(text, "of the trial-seconds") {
		t.Errorf("printed %q", text)
	}
}

func TestTheSameSeedsGiveTheSameNumbers(t *testing.T) {
	setup := DefaultSetup()
	setup.Seeds = 5
	first, err := Compare(context.Background(), setup)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Compare(context.Background(), setup)
	if err != nil || !slices.Equal(first, second) {
		t.Errorf("two comparisons differ, error %v", err)
	}
}

// Below its zero-loss rate a device that nothing disturbs loses nothing, and far
// above it always.
func TestTheDeviceIsWhatItSays(t *testing.T) {
	setup := DefaultSetup()
	for seed := range uint64(50) {
		device := NewDevice(seed)
		for _, size := range Sizes {
			bed := NewBed(device, size, 0, setup.Config.TrialDuration, seed)
			zero := int64(device.ZeroLoss(size))
			if zero < 100_000 || zero >= million {
				t.Fatalf("seed %d, %d bytes: zero-loss rate %d ppm", seed, size, zero)
			}
			below, _ := bed.Measure(context.Background(), zero, setup.Config.TrialDuration)
			above, _ := bed.Measure(context.Background(), min(zero+zero/20, million), setup.Config.TrialDuration)
			if !below.Passed || above.Passed {
				t.Fatalf("seed %d, %d bytes: %+v at %d ppm, %+v above", seed, size, below, zero, above)
			}
		}
	}
}
