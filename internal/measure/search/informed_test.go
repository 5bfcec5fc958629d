package search

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// lossy is a device that forwards at most its capacity, and counts frames.
func lossy(capacity int64) device {
	return func(ppm int64, d time.Duration) Verdict {
		sent := uint64(ppm) * uint64(d/time.Millisecond)
		lost := uint64(max(ppm-capacity, 0)) * uint64(d/time.Millisecond)
		return Verdict{Passed: lost == 0, NothingReceived: lost == sent, Intended: sent, Sent: sent, Lost: lost}
	}
}

func mustInform(t *testing.T, cfg Config, start int64, m Measurer) Result {
	t.Helper()
	r, err := Informed(context.Background(), cfg, start, "test", m)
	if err != nil {
		t.Fatal(err)
	}
	checkFull(t, cfg, r)
	return r
}

// checkFull: what is reported passed at full length, nothing at or below it lost
// a frame at full length, and a failure stands within the resolution above.
func checkFull(t *testing.T, cfg Config, r Result) {
	t.Helper()
	confirmed := r.PassedPPM == 0
	for _, trial := range r.Trials {
		full := trial.Duration >= cfg.TrialDuration
		confirmed = confirmed || full && trial.Verdict.Passed && trial.LoadPPM == r.PassedPPM
		if full && !trial.Verdict.Passed && trial.LoadPPM <= r.PassedPPM {
			t.Fatalf("%+v: %d ppm is reported, but %d ppm failed at full length", cfg, r.PassedPPM, trial.LoadPPM)
		}
	}
	decided := r.Trials[r.Deciding]
	if !confirmed || r.PassedPPM > 0 && (decided.LoadPPM != r.PassedPPM || !decided.Verdict.Passed || decided.Duration < cfg.TrialDuration) {
		t.Fatalf("%+v: %d ppm was decided by %+v", cfg, r.PassedPPM, decided)
	}
	if r.Capped || r.PassedPPM == cfg.MaxPPM {
		return
	}
	if r.PassedPPM == 0 {
		if r.FailedPPM != cfg.MinPPM {
			t.Fatalf("%+v: nothing was found, but the lowest load was not refused: %+v", cfg, r.Bracket)
		}
		return
	}
	if gap := r.FailedPPM - r.PassedPPM; gap <= 0 || gap > cfg.ResolutionPPM {
		t.Fatalf("%+v: bracket %+v is not within the resolution", cfg, r.Bracket)
	}
}

// With a hint that is right, a well-behaved device needs one trial of full length.
func TestInformedNeedsOneFullTrial(t *testing.T) {
	cfg := config(1000, million, 1000)
	for start, most := range map[int64]time.Duration{
		0: 75 * time.Second, 432_000: 70 * time.Second, 431_000: 70 * time.Second, 432_900: 70 * time.Second, 999_999: 75 * time.Second,
		300_000: 100 * time.Second, // Where short trials pass, they take their time.
	} {
		r := mustInform(t, cfg, start, lossy(432_100))
		if r.PassedPPM != 432_000 || r.FailedPPM > 433_000 {
			t.Errorf("start %d: found %+v", start, r.Bracket)
		}
		full := 0
		for _, trial := range r.Trials {
			if trial.Duration == cfg.TrialDuration {
				full++
			}
		}
		if full != 1 || r.Sending() > most {
			t.Errorf("start %d: %d full trials, %s in all", start, full, r.Sending())
		}
	}
}

// Whatever the device, the bounds and the hint: the result is a confirmed one
// within the resolution.
func TestInformedOnAnyMonotoneDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(9971, 1))
	for range 20_000 {
		lowest := 1 + rng.Int64N(million)
		cfg := config(lowest, lowest+rng.Int64N(million+1-lowest), 1+rng.Int64N(100_000))
		capacity := rng.Int64N(million + 1)
		r := mustInform(t, cfg, rng.Int64N(2*million), lossy(capacity))
		switch found := r.ThroughputPPM(); {
		case capacity >= cfg.MaxPPM && found != cfg.MaxPPM, capacity < cfg.MinPPM && found != 0, found > capacity,
			capacity >= cfg.MinPPM && min(capacity, cfg.MaxPPM)-found > cfg.ResolutionPPM:
			t.Fatalf("%+v: capacity %d, found %d", cfg, capacity, found)
		}
	}
}

// Noise of any kind: it ends, and never reports what failed at full length.
func TestInformedOnANoisyDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(9971, 2))
	for range 20_000 {
		cfg := config(1+rng.Int64N(1000), million, 1+rng.Int64N(20_000))
		// Also so short that there are two lengths of trials, or only one.
		switch rng.IntN(4) {
		case 0:
			cfg.TrialDuration, cfg.SearchTrialDuration = 200*time.Millisecond, 100*time.Millisecond
		case 1:
			cfg.TrialDuration, cfg.SearchTrialDuration = 100*time.Millisecond, 100*time.Millisecond
		}
		centre, spread, disturbed := rng.Int64N(million), 1+rng.Int64N(300_000), rng.Float64()*0.5
		mustInform(t, cfg, rng.Int64N(million), device(func(ppm int64, d time.Duration) Verdict {
			v := lossy(centre-spread/2+rng.Int64N(spread))(ppm, d)
			if rng.Float64() < disturbed {
				v.Passed, v.Lost = false, max(v.Lost, 1)
			}
			return v
		}))
	}
}

// Any single disturbed trial below full length leaves the result within the
// resolution of the capacity.
func TestInformedForgivesOneDisturbedTrial(t *testing.T) {
	cfg := config(1000, million, 1000)
	undisturbed := mustInform(t, cfg, 430_000, lossy(432_100))
	for n := range len(undisturbed.Trials) {
		i := -1
		full := false
		r := mustInform(t, cfg, 430_000, device(func(ppm int64, d time.Duration) Verdict {
			v := lossy(432_100)(ppm, d)
			if i++; i == n {
				v.Passed, v.Lost = false, v.Lost+3
				full = d == cfg.TrialDuration
			}
			return v
		}))
		least := 432_100 - cfg.ResolutionPPM
		if full {
			least -= cfg.ResolutionPPM // What failed at full length is never reported.
		}
		if r.PassedPPM < least || r.PassedPPM > 432_100 {
			t.Errorf("trial %d disturbed (full: %v): found %d, undisturbed %d", n, full, r.PassedPPM, undisturbed.PassedPPM)
		}
		if taken := undisturbed.Trials[n].Verdict.Passed && !full; (r.Forgiven > 0) != taken {
			t.Errorf("trial %d disturbed (full: %v): %d failures taken back", n, full, r.Forgiven)
		}
	}
}

// deep is a device that forwards its capacity and keeps what exceeds it in a buffer
// that holds line rate for a time. A trial that fills it ends soon after.
func deep(capacity int64, buffer time.Duration) device {
	return func(ppm int64, d time.Duration) Verdict {
		sent := uint64(ppm) * uint64(d/time.Millisecond)
		full := time.Duration(math.MaxInt64)
		if ppm > capacity {
			full = time.Duration(float64(buffer) * million / float64(ppm-capacity))
		}
		if full >= d {
			return Verdict{Passed: true, Intended: sent, Sent: sent}
		}
		took := min(full+time.Second, d)
		sent = uint64(ppm) * uint64(took/time.Millisecond)
		lost := uint64(ppm-capacity) * uint64((took-full)/time.Millisecond)
		return Verdict{Intended: sent, Sent: sent, Lost: max(lost, 1), Sending: took, SaturatedPPM: capacity}
	}
}

// A buffer that takes an overload for seconds costs few trials of full length.
func TestInformedFindsDeepBuffersOut(t *testing.T) {
	cfg := config(1000, million, 1000)
	for _, start := range []int64{0, 300_000, 428_000, 433_000, 600_000} {
		for _, buffer := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			r := mustInform(t, cfg, start, deep(432_100, buffer))
			// What the buffer takes in a trial of full length belongs to the throughput.
			zero := 432_100 + int64(float64(buffer)*million/float64(cfg.TrialDuration))
			if r.PassedPPM > zero || zero-r.PassedPPM > cfg.ResolutionPPM {
				t.Errorf("start %d, buffer %s: found %+v, want %d", start, buffer, r.Bracket, zero)
			}
			passed := 0
			for _, trial := range r.Trials {
				if trial.Verdict.Passed && trial.Duration == cfg.TrialDuration {
					passed++
				}
			}
			if passed > 3 || len(r.Trials) > 25 {
				t.Errorf("start %d, buffer %s: %d trials, %d passed at full length", start, buffer, len(r.Trials), passed)
			}
		}
	}
}

// A disturbed trial at the lowest load is no reason to find nothing.
func TestInformedForgivesTheLowestLoad(t *testing.T) {
	cfg := config(1000, million, 1000)
	n := 0
	r := mustInform(t, cfg, 0, device(func(ppm int64, d time.Duration) Verdict {
		v := lossy(432_100)(ppm, d)
		switch n++; n {
		case 1:
			v.NothingReceived = true
		case 2:
			v.Passed, v.Lost = false, 3
		}
		return v
	}))
	if r.PassedPPM != 432_000 || r.Forgiven != 1 {
		t.Errorf("found %+v, %d failures taken back", r.Bracket, r.Forgiven)
	}
}

func TestInformedOfADeadDeviceAndAtLineRate(t *testing.T) {
	cfg := config(1000, million, 1000)
	if r := mustInform(t, cfg, 0, lossy(0)); r.PassedPPM != 0 || r.Trials[r.Deciding].LoadPPM != 1000 || len(r.Trials) > 3 {
		t.Errorf("dead: %+v", r)
	}
	r := mustInform(t, cfg, 0, lossy(million))
	if r.PassedPPM != million || r.FailedPPM != 0 || r.Sending() > 65*time.Second {
		t.Errorf("at line rate: %+v after %s", r.Bracket, r.Sending())
	}
}

func TestASearchEndsAtItsCap(t *testing.T) {
	cfg := config(1000, million, 1000)
	cfg.Overhead = 7 * time.Second
	goal := []Goal{goal2544(cfg.TrialDuration)}
	searches := map[string]Func{
		"binary":   Binary,
		"informed": func(ctx context.Context, c Config, m Measurer) (Result, error) { return Informed(ctx, c, 0, "", m) },
		"mlr":      func(ctx context.Context, c Config, m Measurer) (Result, error) { return MLRsearch(ctx, c, goal, m) },
	}
	for name, f := range searches {
		for _, limit := range []time.Duration{time.Second, 20 * time.Second, 100 * time.Second, 200 * time.Second, time.Hour} {
			cfg.TimeCap = limit
			r, err := f(context.Background(), cfg, lossy(432_100))
			if err != nil {
				t.Fatal(err)
			}
			if took := r.Sending() + time.Duration(r.TrialCount())*cfg.Overhead; took > limit {
				t.Errorf("%s: took %s of %s", name, took, limit)
			}
			if limit <= 20*time.Second && !r.Capped || limit == time.Hour && (r.Capped || r.PassedPPM == 0) || r.PassedPPM > 432_100 {
				t.Errorf("%s with %s: capped %v, found %+v", name, limit, r.Capped, r.Bracket)
			}
			if r.PassedPPM > 0 && r.Trials[r.Deciding].Duration != cfg.TrialDuration {
				t.Errorf("%s with %s: decided by %+v", name, limit, r.Trials[r.Deciding])
			}
		}
	}
}

func TestTheWarmUpDecidesNothing(t *testing.T) {
	cfg := config(1000, million, 1000)
	cfg.WarmUp = 2 * time.Second
	n := 0
	cold := device(func(ppm int64, d time.Duration) Verdict {
		if n++; n == 1 {
			return Verdict{NothingReceived: true, Intended: 9, Sent: 9, Lost: 9}
		}
		return lossy(million)(ppm, d)
	})
	for _, f := range []Func{
		Binary,
		func(ctx context.Context, c Config, m Measurer) (Result, error) { return Informed(ctx, c, 0, "", m) },
		func(ctx context.Context, c Config, m Measurer) (Result, error) {
			return MLRsearch(ctx, c, []Goal{goal2544(c.TrialDuration)}, m)
		},
	} {
		n = 0
		r, err := f(context.Background(), cfg, cold)
		if err != nil || r.PassedPPM != million || !r.Trials[0].WarmUp || r.Trials[0].Duration != cfg.WarmUp || r.Trials[r.Deciding].WarmUp {
			t.Errorf("found %+v, error %v", r, err)
		}
	}
}

func TestInformedReturnsErrorsWithItsTrials(t *testing.T) {
	broken := errors.New("agent gone")
	n := 0
	r, err := Informed(context.Background(), config(1, million, 1), 0, "", measurerFunc(func() (Verdict, error) {
		if n++; n == 3 {
			return Verdict{}, broken
		}
		return Verdict{}, nil
	}))
	if !errors.Is(err, broken) || len(r.Trials) != 2 {
		t.Errorf("error %v after %d trials", err, len(r.Trials))
	}
}

func TestPredict(t *testing.T) {
	const speed = 10_000_000_000
	found := func(size int, ppm int64) Hint {
		h, ok := Found(speed, size, ppm, million, "")
		if !ok {
			t.Fatal("no hint")
		}
		return h
	}
	tests := map[string]struct {
		hints []Hint
		size  int
		want  int64
	}{
		"nothing known":               {nil, 64, 0},
		"frames/s of a smaller size":  {[]Hint{found(64, 200_000)}, 128, 352_380},
		"more than line rate":         {[]Hint{found(64, 500_000)}, 512, 1_000_000},
		"bits/s of a larger size":     {[]Hint{found(1518, 700_000)}, 64, 700_000},
		"both limits met, large":      {[]Hint{found(64, 400_000), found(128, 600_000)}, 1518, 600_000},
		"both limits met, small":      {[]Hint{found(1518, 600_000), found(64, 200_000)}, 128, 352_380},
		"calibration of frames/s":     {[]Hint{{FramesPerSecond: big.NewRat(speed/(8*84)/2, 1)}}, 64, 499_999},
		"calibration of bits/s":       {[]Hint{{BitsPerSecond: big.NewRat(speed/4, 1)}}, 64, 250_000},
		"a hint of nothing is no one": {[]Hint{{Source: "empty"}, {FramesPerSecond: new(big.Rat)}}, 64, 0},
	}
	for name, tc := range tests {
		if got, _ := Predict(tc.hints, speed, tc.size); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	if _, ok := Found(speed, 64, million, million, ""); ok {
		t.Error("line rate gave a hint")
	}
}

func TestTheEstimatesOfTheOtherSearchesAreClose(t *testing.T) {
	cfg := config(1000, million, 1000)
	r := mustInform(t, cfg, 430_000, lossy(432_100))
	if n, d := EstimateInformed(cfg); n < len(r.Trials)/2 || n > 2*len(r.Trials) || d < r.Sending()/2 || d > 2*r.Sending() {
		t.Errorf("estimated %d trials of %s, took %d of %s", n, d, len(r.Trials), r.Sending())
	}
	goals := []Goal{goal2544(cfg.TrialDuration)}
	r, err := MLRsearch(context.Background(), cfg, goals, lossy(432_100))
	if err != nil {
		t.Fatal(err)
	}
	if n, d := EstimateMLRsearch(goals); n < len(r.Trials)/2 || n > 2*len(r.Trials) || d < r.Sending()/2 || d > 2*r.Sending() {
		t.Errorf("estimated %d trials of %s, took %d of %s", n, d, len(r.Trials), r.Sending())
	}
}

// What the tester passes at other frame sizes says nothing of which limit the
// device has met; it only bounds it.
func TestPredictKeepsTesterAndDeviceApart(t *testing.T) {
	const speed = 1_000_000_000
	device, _ := Found(speed, 512, 500_000, million, "device")
	tester, _ := Found(speed, 64, 400_000, million, "tester")
	if ppm, source := Predict([]Hint{device, tester}, speed, 1518); ppm != 500_000 || source != "device" {
		t.Errorf("taken for one: %d from %q, want the bits/s of the device, since more frames/s passed", ppm, source)
	}
	tester.Tester = true
	if ppm, _ := Predict([]Hint{device, tester}, speed, 1518); ppm != million {
		t.Errorf("%d, want line rate: nothing tells whether the device is limited in bits/s", ppm)
	}
	low, _ := Found(speed, 512, 300_000, million, "tester")
	low.Tester = true
	if ppm, source := Predict([]Hint{device, low}, speed, 512); ppm != 300_000 || source != "tester" {
		t.Errorf("%d from %q, want the tester's limit", ppm, source)
	}
}
