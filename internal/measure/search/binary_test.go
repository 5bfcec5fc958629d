package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// device is a Measurer made of a function.
type device func(ppm int64, d time.Duration) Verdict

func (f device) Measure(_ context.Context, ppm int64, d time.Duration) (Verdict, error) {
	return f(ppm, d), nil
}

func capacity(c int64) device {
	return func(ppm int64, _ time.Duration) Verdict { return Verdict{Passed: ppm <= c} }
}

func config(lowest, highest, resolution int64) Config {
	return Config{
		MinPPM: lowest, MaxPPM: highest, ResolutionPPM: resolution,
		TrialDuration: 60 * time.Second, SearchTrialDuration: 10 * time.Second,
	}
}

func mustSearch(t *testing.T, cfg Config, m Measurer) Result {
	t.Helper()
	r, err := Binary(context.Background(), cfg, m)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Trials); n > maxTrials(cfg) {
		t.Fatalf("%d trials, at most %d are possible", n, maxTrials(cfg))
	}
	return r
}

func TestBinaryFindsTheExactCapacity(t *testing.T) {
	r := mustSearch(t, config(1, 1_000_000, 1), capacity(696_875))
	if r.ThroughputPPM() != 696_875 || r.FailedPPM != 696_876 {
		t.Fatalf("found %+v, want 696875 passed and 696876 failed", r.Bracket)
	}
	last := r.Trials[r.Deciding]
	if last.Duration != 60*time.Second || last.LoadPPM != 696_875 {
		t.Errorf("decided by %+v, want the full trial at 696875 ppm", last)
	}
}

// Whatever the monotone device and the bounds: the load found passed at full
// length, and one within the resolution above it did not.
func TestBinaryOnAnyMonotoneDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(2544, 26))
	for range 20_000 {
		lowest := 1 + rng.Int64N(1_000_000)
		cfg := config(lowest, lowest+rng.Int64N(1_000_001-lowest), 1+rng.Int64N(100_000))
		// Short trials may hide loss: a device with a buffer.
		full := rng.Int64N(1_000_001)
		short := full + rng.Int64N(1_000_001-full)
		r := mustSearch(t, cfg, device(func(ppm int64, d time.Duration) Verdict {
			if d == cfg.TrialDuration {
				return Verdict{Passed: ppm <= full}
			}
			return Verdict{Passed: ppm <= short}
		}))
		checkBracket(t, cfg, r)
		found := r.ThroughputPPM()
		switch {
		case full >= cfg.MaxPPM && found != cfg.MaxPPM:
			t.Fatalf("%+v full %d short %d: found %d", cfg, full, short, found)
		case full < cfg.MinPPM && found != 0:
			t.Fatalf("%+v full %d short %d: found %d", cfg, full, short, found)
		case found > full:
			t.Fatalf("%+v full %d short %d: found %d, above what the device can do", cfg, full, short, found)
		case full >= cfg.MinPPM && short == full && min(full, cfg.MaxPPM)-found > cfg.ResolutionPPM:
			t.Fatalf("%+v full %d: found %d, not within the resolution", cfg, full, found)
		}
	}
}

// A noisy device has no exact throughput; the search must still end, and report
// only what passed at full length with a failure close above it.
func TestBinaryOnANoisyDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1242, 17))
	for range 20_000 {
		cfg := config(1+rng.Int64N(1000), 1_000_000, 1+rng.Int64N(20_000))
		centre, spread := rng.Int64N(1_000_000), 1+rng.Int64N(300_000)
		checkBracket(t, cfg, mustSearch(t, cfg, device(func(ppm int64, _ time.Duration) Verdict {
			return Verdict{Passed: ppm <= centre-spread/2+rng.Int64N(spread)}
		})))
	}
}

func checkBracket(t *testing.T, cfg Config, r Result) {
	t.Helper()
	decided := r.Trials[r.Deciding]
	if r.PassedPPM == 0 {
		if decided.LoadPPM != cfg.MinPPM || decided.Verdict.Passed {
			t.Fatalf("%+v: throughput 0 was decided by %+v, want a failure at the lowest load", cfg, decided)
		}
		return
	}
	if !decided.Verdict.Passed || decided.LoadPPM != r.PassedPPM || decided.Duration != cfg.TrialDuration {
		t.Fatalf("%+v: %d ppm was decided by %+v, want a full trial that passed there", cfg, r.PassedPPM, decided)
	}
	if r.FailedPPM == 0 {
		if r.PassedPPM != cfg.MaxPPM {
			t.Fatalf("%+v: stopped at %d ppm without a failure above", cfg, r.PassedPPM)
		}
		return
	}
	if found := r.PassedPPM; found%cfg.ResolutionPPM != 0 && found != cfg.MinPPM && found != cfg.MaxPPM {
		t.Fatalf("%+v: %d ppm is no multiple of the resolution", cfg, found)
	}
	if gap := r.FailedPPM - r.PassedPPM; gap <= 0 || gap > cfg.ResolutionPPM {
		t.Fatalf("%+v: bracket %+v is not within the resolution", cfg, r.Bracket)
	}
}

func TestBinaryGoesOnWhenTheConfirmationFails(t *testing.T) {
	r := mustSearch(t, config(1000, 1_000_000, 1000), device(func(ppm int64, d time.Duration) Verdict {
		if d == 60*time.Second {
			return Verdict{Passed: ppm <= 500_000}
		}
		return Verdict{Passed: ppm <= 600_000}
	}))
	if found := r.ThroughputPPM(); found > 500_000 || found < 499_000 {
		t.Fatalf("found %d, want 500000 within 1000", found)
	}
	confirmations := 0
	for _, trial := range r.Trials {
		if trial.Duration == 60*time.Second {
			confirmations++
		}
	}
	if confirmations < 2 {
		t.Errorf("%d full trials, want the failed and a passed one at least", confirmations)
	}
}

func TestBinaryNeedsNoConfirmationWhenAllTrialsAreFull(t *testing.T) {
	cfg := config(1000, 1_000_000, 1000)
	cfg.SearchTrialDuration = cfg.TrialDuration
	r := mustSearch(t, cfg, capacity(1_000_000))
	if len(r.Trials) != 1 || r.ThroughputPPM() != 1_000_000 {
		t.Errorf("%d trials found %d, want one trial at 100 %%", len(r.Trials), r.ThroughputPPM())
	}
}

func TestBinaryTellsTesterFromDevice(t *testing.T) {
	tests := map[string]struct {
		tester, device int64
		bound          bool
	}{
		"tester is slower": {300_000, 700_000, true},
		"device is slower": {700_000, 300_000, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := mustSearch(t, config(1, 1_000_000, 1), device(func(ppm int64, _ time.Duration) Verdict {
				lossless := min(ppm, tc.tester) <= tc.device
				return Verdict{Passed: lossless && ppm <= tc.tester, GeneratorBound: lossless && ppm > tc.tester}
			}))
			if r.ThroughputPPM() != 300_000 || r.GeneratorBound != tc.bound {
				t.Errorf("found %d, generator-bound %v, want 300000 and %v", r.ThroughputPPM(), r.GeneratorBound, tc.bound)
			}
		})
	}
}

func TestBinaryGivesUpEarlyWhenNothingComesBack(t *testing.T) {
	r := mustSearch(t, config(1000, 1_000_000, 1), device(func(int64, time.Duration) Verdict {
		return Verdict{NothingReceived: true}
	}))
	if len(r.Trials) != 2 || r.ThroughputPPM() != 0 || r.Trials[r.Deciding].LoadPPM != 1000 {
		t.Errorf("trials %+v, want one at the highest and one at the lowest load", r.Trials)
	}
}

func TestBinaryReturnsErrorsWithItsTrials(t *testing.T) {
	broken := errors.New("agent gone")
	n := 0
	m := measurerFunc(func() (Verdict, error) {
		if n++; n == 3 {
			return Verdict{}, broken
		}
		return Verdict{}, nil
	})
	r, err := Binary(context.Background(), config(1, 1_000_000, 1), m)
	if !errors.Is(err, broken) || len(r.Trials) != 2 {
		t.Errorf("error %v after %d trials, want the measurer's after 2", err, len(r.Trials))
	}
}

type measurerFunc func() (Verdict, error)

func (f measurerFunc) Measure(context.Context, int64, time.Duration) (Verdict, error) { return f() }

func TestConfigValidate(t *testing.T) {
	good := config(1, 1_000_000, 1)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"bounds swapped":   func(c *Config) { c.MinPPM, c.MaxPPM = 10, 9 },
		"lowest is 0":      func(c *Config) { c.MinPPM = 0 },
		"resolution is 0":  func(c *Config) { c.ResolutionPPM = 0 },
		"short are longer": func(c *Config) { c.SearchTrialDuration = time.Hour },
		"no duration":      func(c *Config) { c.SearchTrialDuration = 0 },
	} {
		cfg := good
		change(&cfg)
		if cfg.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestEstimateIsCloseToWhatASearchTakes(t *testing.T) {
	for _, cfg := range []Config{config(1, 1_000_000, 1), config(1000, 1_000_000, 1000), config(100_000, 500_000, 5000)} {
		r := mustSearch(t, cfg, capacity(333_333))
		if n, _ := Estimate(cfg); len(r.Trials) > n || len(r.Trials) < n-2 {
			t.Errorf("%+v took %d trials, estimated %d", cfg, len(r.Trials), n)
		}
	}
}

// maxTrials returns the largest number of trials that a binary search can take.
func maxTrials(cfg Config) int {
	// Short: the highest and the lowest load, and the halvings. Full: the
	// confirmation, a descent, the halvings.
	return 2 + halvings(cfg) + 1 + (halvings(cfg) + 1) + halvings(cfg) + 1
}
