package search

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"time"
)

// GoalResult is the Goal Result of RFC 9971: regular when both bounds exist.
type GoalResult struct {
	Goal Goal
	// LowerPPM is the Relevant Lower Bound, the highest load classified as a lower
	// bound below UpperPPM; 0 when there is none. UpperPPM is the Relevant Upper
	// Bound, the lowest load classified as an upper bound; 0 when there is none.
	LowerPPM, UpperPPM int64
	// Regular reports whether both bounds exist and are as close as the goal asks for.
	// An irregular result is at an end of the loads, or was capped.
	Regular bool
	// Conditional is the Conditional Throughput in parts per million of line rate;
	// 0 without a lower bound.
	Conditional *big.Rat
	// LowerSum and UpperSum are the durations of all full-length trials at the two
	// bounds.
	LowerSum, UpperSum time.Duration
	// Deciding is the index in Result.Trials of the last full-length trial with low
	// loss at the lower bound, or of the last trial at the lowest load.
	Deciding int
	// GeneratorBound reports whether the tester was what made UpperPPM an upper bound.
	GeneratorBound bool
}

// MLRsearch searches several goals at once as RFC 9971 defines them (Multiple
// Loss Ratio search). This is its Controller: it chooses loads and durations,
// the Measurer runs the trials, and who calls it is the Manager.
//
// The trials begin with the highest load and with what the device forwarded of
// it, at the initial duration. Each goal has coarser targets before it, with
// shorter trials and wider brackets; the bounds of one target are where the next
// one begins. A missing bound is looked for in steps that grow, and a bracket
// that is too wide is split. Every trial serves all goals.
//
// Loads are whole parts per million of line rate. The goal width is relative to
// the upper bound as in RFC 9971, but not below Config.ResolutionPPM. Bracket and
// Deciding of the result are those of the first goal.
func MLRsearch(ctx context.Context, cfg Config, goals []Goal, m Measurer) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if len(goals) == 0 {
		return Result{}, errors.New("MLRsearch needs at least one goal")
	}
	s := &mlr{manager: manager{cfg: cfg, m: m}, at: map[int64][]Trial{}}
	for _, g := range goals {
		if err := g.Validate(); err != nil {
			return Result{}, err
		}
		s.goals = append(s.goals, &pursuit{Goal: g, targets: g.targets(cfg.ResolutionPPM)})
	}
	err := s.search(ctx)
	result := s.result()
	if errors.Is(err, errCapped) {
		result.Capped, err = true, nil
	}
	return result, err
}

type mlr struct {
	manager
	goals []*pursuit
	// at holds the trials at every load.
	at map[int64][]Trial
	// loads in rising order.
	loads []int64
}

// pursuit is a goal with the target that it has come to.
type pursuit struct {
	Goal
	targets []target
	now     int
	// step is the distance of the next step in search of a missing bound, 0 for the width of
	// the target.
	step int64
	// hand is the load whose trials are not yet enough to decide it, 0 for none.
	hand int64
}

// candidate is a trial that a goal asks for.
type candidate struct {
	ppm      int64
	duration time.Duration
}

func (s *mlr) search(ctx context.Context) error {
	if err := s.warmUp(ctx, s.cfg.MaxPPM); err != nil {
		return err
	}
	first := s.goals[0].targets[0].duration
	for _, g := range s.goals {
		first = min(first, g.targets[0].duration)
	}
	v, err := s.measure(ctx, candidate{s.cfg.MaxPPM, first})
	if err != nil {
		return err
	}
	switch forwarded := max(v.forwarded(s.cfg.MaxPPM), s.cfg.MinPPM); {
	case v.NothingReceived && s.cfg.MaxPPM > s.cfg.MinPPM:
		_, err = s.measure(ctx, candidate{s.cfg.MinPPM, first})
	case forwarded < s.cfg.MaxPPM && v.Intended > 0:
		_, err = s.measure(ctx, candidate{forwarded, first})
	}
	if err != nil {
		return err
	}
	for {
		var next *candidate
		for _, g := range s.goals {
			c := s.candidate(g)
			if c != nil && (next == nil || c.duration < next.duration || c.duration == next.duration && c.ppm < next.ppm) {
				next = c
			}
		}
		if next == nil {
			return nil
		}
		if _, err := s.measure(ctx, *next); err != nil {
			return err
		}
	}
}

func (s *mlr) measure(ctx context.Context, c candidate) (Verdict, error) {
	v, err := s.try(ctx, c.ppm, c.duration)
	if err != nil {
		return v, err
	}
	if len(s.at[c.ppm]) == 0 {
		i, _ := slices.BinarySearch(s.loads, c.ppm)
		s.loads = slices.Insert(s.loads, i, c.ppm)
	}
	s.at[c.ppm] = append(s.at[c.ppm], s.trials[len(s.trials)-1])
	return v, nil
}

// bounds are the relevant bounds for a target, 0 where there is none.
func (s *mlr) bounds(t target) (low, high int64) {
	for _, ppm := range s.loads {
		switch t.classify(t.sums(s.at[ppm])) {
		case upper:
			return low, ppm
		case lower:
			low = ppm
		}
	}
	return low, 0
}

// candidate is the next trial of a goal, nil when it has its result.
func (s *mlr) candidate(g *pursuit) *candidate {
	for g.now < len(g.targets) {
		t := g.targets[g.now]
		if g.hand > 0 {
			if t.classify(t.sums(s.at[g.hand])) == undecided {
				return &candidate{g.hand, t.duration}
			}
			g.hand = 0
		}
		if ppm := s.next(g, t); ppm > 0 {
			g.hand = ppm
			return &candidate{ppm, t.duration}
		}
		g.now, g.step = g.now+1, 0
	}
	return nil
}

// next is the load that a target needs to be decided, 0 when its bracket is
// narrow enough.
func (s *mlr) next(g *pursuit, t target) int64 {
	low, high := s.bounds(t)
	if low == s.cfg.MaxPPM || high == s.cfg.MinPPM || low > 0 && high > 0 && high-low <= t.width(high) {
		return 0
	}
	// What the target before found is refined with longer trials first, the lower
	// bound before the upper.
	if g.now > 0 {
		before, above := s.bounds(g.targets[g.now-1])
		if before > low && (high == 0 || before < high) {
			return before
		}
		if above > low && (high == 0 || above < high) {
			return above
		}
	} else if low == 0 && high == 0 {
		return s.loads[0] // Tried, but not decided by one trial.
	}
	if low > 0 && high > 0 {
		return split(low, high, t.width(high))
	}
	// A bound is missing: go away from the other one in steps that grow.
	if g.step == 0 {
		g.step = t.width(max(low, high))
	}
	step := g.step
	g.step *= t.expansion
	if high > 0 {
		return max(s.cfg.MinPPM, high-step)
	}
	return min(s.cfg.MaxPPM, low+step)
}

// split is a load between two that are further apart than the width: in the
// middle, counted in widths, so that no further split is wasted.
func split(low, high, width int64) int64 {
	widths := (high - low + width - 1) / width
	return low + (high-low)*(widths/2)/widths
}

// result sums up what is known at the end.
func (s *mlr) result() Result {
	r := Result{Trials: s.trials}
	for _, g := range s.goals {
		final := g.targets[len(g.targets)-1]
		out := GoalResult{Goal: g.Goal, Conditional: new(big.Rat)}
		out.LowerPPM, out.UpperPPM = s.bounds(final)
		out.Regular = out.LowerPPM > 0 && out.UpperPPM > 0 && out.UpperPPM-out.LowerPPM <= final.width(out.UpperPPM)
		if out.LowerPPM > 0 {
			out.Conditional = final.conditional(out.LowerPPM, s.at[out.LowerPPM])
			out.LowerSum = full(final, s.at[out.LowerPPM])
		}
		if out.UpperPPM > 0 {
			out.UpperSum = full(final, s.at[out.UpperPPM])
		}
		for i, t := range s.trials {
			switch {
			case t.WarmUp:
			case out.LowerPPM > 0 && t.LoadPPM == out.LowerPPM && t.Duration >= final.duration && !t.Verdict.exceeds(final.loss),
				out.LowerPPM == 0 && t.LoadPPM == s.loads[0]:
				out.Deciding = i
			}
			if t.LoadPPM == out.UpperPPM && !t.WarmUp && t.Verdict.exceeds(final.loss) {
				out.GeneratorBound = t.Verdict.limited(final.loss)
			}
		}
		r.Goals = append(r.Goals, out)
	}
	one := r.Goals[0]
	r.PassedPPM, r.FailedPPM = one.LowerPPM, one.UpperPPM
	r.Deciding, r.GeneratorBound = one.Deciding, one.GeneratorBound
	return r
}

func full(t target, trials []Trial) time.Duration {
	s := t.sums(trials)
	return s.goodLong + s.badLong
}

// EstimateMLRsearch is about how many trials an MLRsearch takes, and how long they
// send: some for every target that comes before, and for the goal two at the load
// found and as many above it as decide a load.
func EstimateMLRsearch(goals []Goal) (trials int, sending time.Duration) {
	for _, g := range goals {
		for _, t := range g.targets(1) {
			n := 4
			if t.duration == g.FinalTrialDuration {
				n = 2 * int((g.DurationSum+g.FinalTrialDuration-1)/g.FinalTrialDuration)
			}
			trials += n
			sending += time.Duration(n) * t.duration
		}
	}
	return trials, sending
}
