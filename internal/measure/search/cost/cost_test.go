package cost

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the documentation claims, with fewer devices: Informed takes at most 0.46 of
// the mean wall time of MLRsearch with equal widths, and less than with all else that
// it has, at no larger error and about the same chance of loss, and it never reports a
// load that lost a frame in a trial of full length.
func TestInformedCostsLessThanMLRsearch(t *testing.T) {
	setup := DefaultSetup()
	setup.Seeds = 150
	rows, err := Compare(context.Background(), setup)
	if err != nil {
		t.Fatal(err)
	}
	ours := row(rows, NameInformed)
	for name, most := range map[string]float64{NamePublished: 0.46, NameEqual: 0.65} {
		other := row(rows, name)
		if other == nil || ours == nil {
			t.Fatalf("rows are missing: %+v", rows)
		}
		if ours.Wall > most*other.Wall {
			t.Errorf("%.1f s, more than %.2f of the %.1f s of %s", ours.Wall, most, other.Wall, name)
		}
		if ours.MeanErrorPPM > other.MeanErrorPPM || ours.ErrorPPM > other.ErrorPPM || ours.Error95PPM > other.Error95PPM {
			t.Errorf("error %.0f, %.0f and %.0f ppm, %s %.0f, %.0f and %.0f", ours.MeanErrorPPM, ours.ErrorPPM, ours.Error95PPM, name, other.MeanErrorPPM, other.ErrorPPM, other.Error95PPM)
		}
		if ours.Loss > other.Loss+0.005 { // So few seeds cannot tell less apart.
			t.Errorf("a chance of loss of %.4f, %s %.4f", ours.Loss, name, other.Loss)
		}
	}
	for _, r := range rows {
		if strings.HasPrefix(r.Method, NameInformed) && (r.Refuted != 0 || r.Forgiven == 0) {
			t.Errorf("%s on %s devices: %d loads reported lost a frame at full length, %.3f forgiven", r.Method, r.Kind, r.Refuted, r.Forgiven)
		}
		if r.Sending <= 0 || r.Wall < r.Sending+r.Trials*Rest.Seconds() || r.Trials < 2 || r.Loss < setup.Disturbed-1e-9 {
			t.Errorf("%+v", r)
		}
	}
	var b strings.Builder
	if err := Print(&b, setup, rows); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "150 simulated devices") || !strings.Contains(text, "of the mean wall time") || !strings.Contains(text, Reference) {
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
	setup.First = 100
	if other, err := Compare(context.Background(), setup); err != nil || slices.Equal(first, other) {
		t.Errorf("other seeds give the same numbers, error %v", err)
	}
}

// Below its zero-loss rate a device that nothing disturbs loses nothing, and far
// above it always. A trial that passes takes its full length, one that fails ends.
func TestTheDeviceIsWhatItSays(t *testing.T) {
	setup := DefaultSetup()
	full := setup.Config.TrialDuration
	for seed := range uint64(50) {
		device := NewDevice(seed)
		for _, size := range Sizes {
			bed := NewBed(device, size, 0, full, seed)
			bed.EndsEarly = true
			zero := int64(device.ZeroLoss(size, full))
			if zero < 100_000 || zero >= million {
				t.Fatalf("seed %d, %d bytes: zero-loss rate %d ppm", seed, size, zero)
			}
			below, _ := bed.Measure(context.Background(), zero, full)
			wall := bed.Wall
			above, _ := bed.Measure(context.Background(), min(zero+zero/5, million), full)
			if !below.Passed || above.Passed || below.Sending != full || above.Sending > 5*time.Second || wall != full+Back+Rest || bed.Wall != wall+above.Sending+Settle+Rest {
				t.Fatalf("seed %d, %d bytes: %+v at %d ppm, %+v above, %s and %s", seed, size, below, zero, above, wall, bed.Wall)
			}
			if low, high := bed.LossChance(zero), bed.LossChance(min(zero+zero/5, million)); low > 0.01 || high < 0.99 {
				t.Fatalf("seed %d, %d bytes: chance of loss %.3f at the zero-loss rate, %.3f above", seed, size, low, high)
			}
		}
	}
}
