package search

import (
	"context"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

func trial(seconds int, lost uint64) Trial {
	v := Verdict{Intended: 1000, Sent: 1000, Lost: lost, Passed: lost == 0}
	return Trial{LoadPPM: 500_000, Duration: time.Duration(seconds) * time.Second, Verdict: v}
}

// Worked by hand from RFC 9971, appendix A: goal duration sum 120 s, full-length
// trials of 60 s, loss ratio 0.5 % (5 of 1,000 frames).
func TestClassify(t *testing.T) {
	tests := map[string]struct {
		exceed int64
		trials []Trial
		want   class
	}{
		"nothing yet":                          {0, nil, undecided},
		"half of the sum is good":              {0, []Trial{trial(60, 0)}, undecided},
		"all of the sum is good":               {0, []Trial{trial(60, 0), trial(60, 5)}, lower},
		"one bad one, none may be":             {0, []Trial{trial(60, 0), trial(60, 6)}, upper},
		"a short bad one, none may be":         {0, []Trial{trial(1, 6)}, upper},
		"short good ones decide nothing":       {0, []Trial{trial(59, 0), trial(59, 0), trial(59, 0)}, undecided},
		"one good, half may be bad":            {500_000, []Trial{trial(60, 0)}, lower},
		"one bad, half may be bad":             {500_000, []Trial{trial(60, 6)}, undecided},
		"good and bad, half may be bad":        {500_000, []Trial{trial(60, 6), trial(60, 0)}, lower},
		"two bad, half may be bad":             {500_000, []Trial{trial(60, 6), trial(60, 6)}, upper},
		"61 s of short bad ones":               {500_000, []Trial{trial(30, 6), trial(31, 6)}, upper},
		"short good ones balance short bad":    {500_000, []Trial{trial(30, 6), trial(31, 6), trial(1, 0)}, undecided},
		"a quarter may be bad: 40 s short bad": {250_000, []Trial{trial(40, 6)}, upper},
		"a quarter: 30 s short bad":            {250_000, []Trial{trial(30, 6)}, undecided},
		// 40 s less 30 s * 1/3 = 30 s, a quarter of 120 s.
		"a quarter, balanced to the limit": {250_000, []Trial{trial(40, 6), trial(30, 0)}, undecided},
	}
	for name, tc := range tests {
		goal := target{loss: 5000, exceed: tc.exceed, duration: time.Minute, sum: 2 * time.Minute}
		if got := goal.classify(goal.sums(tc.trials)); got != tc.want {
			t.Errorf("%s: class %d, want %d", name, got, tc.want)
		}
	}
}

// Worked by hand from RFC 9971, appendix B.
func TestConditionalThroughput(t *testing.T) {
	tests := map[string]struct {
		exceed int64
		trials []Trial
		want   int64
	}{
		"no loss":                            {0, []Trial{trial(60, 0), trial(60, 0)}, 500_000},
		"the worst counts":                   {0, []Trial{trial(60, 4), trial(60, 0)}, 498_000},
		"the median counts":                  {500_000, []Trial{trial(60, 900), trial(60, 2)}, 499_000},
		"what is missing counts as all lost": {0, []Trial{trial(60, 0)}, 0},
		"short ones do not count":            {500_000, []Trial{trial(59, 0), trial(60, 2)}, 499_000},
	}
	for name, tc := range tests {
		goal := target{loss: 5000, exceed: tc.exceed, duration: time.Minute, sum: 2 * time.Minute}
		if got := goal.conditional(500_000, tc.trials); got.Cmp(big.NewRat(tc.want, 1)) != 0 {
			t.Errorf("%s: %s, want %d", name, got, tc.want)
		}
	}
}

func TestTargets(t *testing.T) {
	goal := goal2544(time.Minute)
	goal.WidthPPM = 1000
	targets := goal.targets(100)
	want := []struct {
		duration time.Duration
		width    int64 // of 500,000 ppm
	}{{time.Second, 2000}, {7746 * time.Millisecond, 1000}, {time.Minute, 500}}
	for i, w := range want {
		if got := targets[i]; got.duration != w.duration || got.width(500_000) != w.width || got.sum != w.duration {
			t.Errorf("target %d: %+v with width %d, want %+v", i, got, got.width(500_000), w)
		}
	}
	if got := targets[2].width(10_000); got != 100 {
		t.Errorf("width %d at 1 %%, want the resolution", got)
	}
}

func TestGoalValidate(t *testing.T) {
	if err := goal2544(time.Minute).Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Goal){
		"all may be lost":      func(g *Goal) { g.LossRatioPPM = million },
		"all may exceed":       func(g *Goal) { g.ExceedRatioPPM = million },
		"first are longer":     func(g *Goal) { g.InitialTrialDuration = time.Hour },
		"sum is too short":     func(g *Goal) { g.DurationSum = time.Second },
		"width is all":         func(g *Goal) { g.WidthPPM = million },
		"steps do not grow":    func(g *Goal) { g.Expansion = 1 },
		"targets without end":  func(g *Goal) { g.PrecedingTargets = 17 },
		"targets below nought": func(g *Goal) { g.PrecedingTargets = -1 },
	} {
		goal := goal2544(time.Minute)
		change(&goal)
		if goal.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Two goals in one search: the trials of one serve the other.
func TestMLRsearchFindsNDRAndPDR(t *testing.T) {
	cfg := config(1000, million, 100)
	ndr := goal2544(cfg.TrialDuration)
	pdr := partial(ndr, 5000)
	// The device loses nothing up to 400,000 ppm and all that is above: half a per
	// cent at 402,010 ppm.
	both, err := MLRsearch(context.Background(), cfg, []Goal{ndr, pdr}, lossy(400_000))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{400_000, 402_010} {
		g := both.Goals[i]
		if !g.Regular || g.LowerPPM > want || g.UpperPPM <= want || g.UpperPPM-g.LowerPPM > 100 {
			t.Errorf("%s: %+v, want %d between the bounds", g.Goal.Name, g, want)
		}
		if g.LowerSum != time.Minute || both.Trials[g.Deciding].LoadPPM != g.LowerPPM {
			t.Errorf("%s: %s at the lower bound, decided by %+v", g.Goal.Name, g.LowerSum, both.Trials[g.Deciding])
		}
	}
	if c := both.Goals[1].Conditional; c.Cmp(big.NewRat(399_999, 1)) < 0 || c.Cmp(big.NewRat(400_000, 1)) > 0 {
		t.Errorf("conditional throughput of PDR is %s, want the 400000 ppm that arrived", c.FloatString(2))
	}
	alone, _ := MLRsearch(context.Background(), cfg, []Goal{ndr}, lossy(400_000))
	other, _ := MLRsearch(context.Background(), cfg, []Goal{pdr}, lossy(400_000))
	if n := len(alone.Trials) + len(other.Trials); len(both.Trials) >= n {
		t.Errorf("%d trials for both, %d one by one", len(both.Trials), n)
	}
}

func TestMLRsearchIsIrregularAtTheEnds(t *testing.T) {
	cfg := config(1000, million, 1000)
	goals := []Goal{goal2544(cfg.TrialDuration)}
	fast, _ := MLRsearch(context.Background(), cfg, goals, lossy(million))
	if g := fast.Goals[0]; g.Regular || g.LowerPPM != million || g.UpperPPM != 0 || g.Conditional.Cmp(big.NewRat(million, 1)) != 0 {
		t.Errorf("at line rate: %+v", g)
	}
	dead, _ := MLRsearch(context.Background(), cfg, goals, lossy(0))
	if g := dead.Goals[0]; g.Regular || g.LowerPPM != 0 || g.UpperPPM != 1000 || g.Conditional.Sign() != 0 || len(dead.Trials) != 2 {
		t.Errorf("dead: %+v after %d trials", g, len(dead.Trials))
	}
	if _, err := MLRsearch(context.Background(), cfg, nil, lossy(0)); err == nil {
		t.Error("accepted no goal")
	}
}

// Whatever the device and the goal: the search ends, with bounds that the trials
// bear out.
func TestMLRsearchOnAnyDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(9971, 3))
	for range 1000 {
		lowest := 1 + rng.Int64N(million/2)
		cfg := config(lowest, lowest+rng.Int64N(million+1-lowest), 1+rng.Int64N(50_000))
		goal := partial(goal2544(cfg.TrialDuration), rng.Int64N(2)*5000)
		goal.ExceedRatioPPM = rng.Int64N(3) * 250_000
		goal.DurationSum *= time.Duration(1 + rng.Int64N(3))
		goal.PrecedingTargets = rng.IntN(4)
		goal.Expansion = 2 + rng.Int64N(3)
		capacity, noise := rng.Int64N(million), 1+rng.Int64N(1+rng.Int64N(100_000))
		quiet := rng.IntN(2) == 0
		r, err := MLRsearch(context.Background(), cfg, []Goal{goal}, device(func(ppm int64, d time.Duration) Verdict {
			if quiet {
				return lossy(capacity)(ppm, d)
			}
			return lossy(capacity-noise/2+rng.Int64N(noise))(ppm, d)
		}))
		if err != nil {
			t.Fatal(err)
		}
		g, final := r.Goals[0], goal.targets(cfg.ResolutionPPM)[goal.PrecedingTargets]
		at := map[int64][]Trial{}
		for _, trial := range r.Trials {
			at[trial.LoadPPM] = append(at[trial.LoadPPM], trial)
		}
		switch {
		case g.LowerPPM > 0 && final.classify(final.sums(at[g.LowerPPM])) != lower,
			g.UpperPPM > 0 && final.classify(final.sums(at[g.UpperPPM])) != upper,
			g.LowerPPM == 0 && g.UpperPPM != cfg.MinPPM, g.UpperPPM == 0 && g.LowerPPM != cfg.MaxPPM,
			g.Regular && (g.UpperPPM <= g.LowerPPM || g.UpperPPM-g.LowerPPM > final.width(g.UpperPPM)),
			!g.Regular && g.LowerPPM > 0 && g.UpperPPM > 0:
			t.Fatalf("%+v %+v: %+v", cfg, goal, g)
		}
		if quiet && goal.LossRatioPPM == 0 && (g.LowerPPM > capacity || g.UpperPPM > 0 && g.UpperPPM <= capacity) {
			t.Fatalf("capacity %d: %+v", capacity, g)
		}
	}
}

// goal2544 is the goal with which MLRsearch finds the throughput of RFC 2544: no loss in a
// trial of full length.
func goal2544(full time.Duration) Goal {
	return Goal{Name: "NDR", InitialTrialDuration: full / 60, FinalTrialDuration: full, DurationSum: full, PrecedingTargets: 2, Expansion: 2}
}

// partial is the goal for a partial drop rate.
func partial(g Goal, lossPPM int64) Goal {
	g.Name, g.LossRatioPPM = "PDR", lossPPM
	return g
}
