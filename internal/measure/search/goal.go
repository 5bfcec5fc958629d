package search

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"
)

// Goal is a Search Goal of RFC 9971: what a load must show to count as a lower
// or an upper bound, and how close the two have to come.
type Goal struct {
	// Name of the goal for a person: NDR, PDR.
	Name string
	// LossRatioPPM is the Goal Loss Ratio in parts per million of the frames sent.
	// A trial that lost more has high loss.
	LossRatioPPM int64
	// ExceedRatioPPM is the Goal Exceed Ratio: the part of the Goal Duration Sum
	// that may have high loss, in parts per million, below 1,000,000.
	ExceedRatioPPM int64
	// InitialTrialDuration is the length of the first trials.
	InitialTrialDuration time.Duration
	// FinalTrialDuration is the shortest length of a full-length trial.
	FinalTrialDuration time.Duration
	// DurationSum is the total time that full-length trials at one load must take before the
	// load is decided, unless the rest could not change that.
	DurationSum time.Duration
	// WidthPPM is the Goal Width: the distance of the bounds as a part of the upper
	// one. 0 leaves the width to the resolution of the search, which is a part of
	// line rate; the wider of the two holds.
	WidthPPM int64
	// PrecedingTargets is the number of coarser targets before the goal itself.
	PrecedingTargets int
	// Expansion is the factor by which steps grow while a bound is still missing,
	// at least 2.
	Expansion int64
}

// Validate reports a goal that cannot be met or is not defined.
func (g Goal) Validate() error {
	switch {
	case g.LossRatioPPM < 0 || g.LossRatioPPM >= million:
		return fmt.Errorf("goal %s: the loss ratio is %d ppm: give 0 to 999999", g.Name, g.LossRatioPPM)
	case g.ExceedRatioPPM < 0 || g.ExceedRatioPPM >= million:
		return fmt.Errorf("goal %s: the exceed ratio is %d ppm: give 0 to 999999", g.Name, g.ExceedRatioPPM)
	case g.InitialTrialDuration <= 0 || g.FinalTrialDuration < g.InitialTrialDuration || g.DurationSum < g.FinalTrialDuration:
		return fmt.Errorf("goal %s: give an initial trial duration above 0, a final one that is not shorter, and a duration sum of at least that", g.Name)
	case g.WidthPPM < 0 || g.WidthPPM >= million:
		return fmt.Errorf("goal %s: the width is %d ppm: give 0 to 999999", g.Name, g.WidthPPM)
	case g.PrecedingTargets < 0 || g.PrecedingTargets > 16 || g.Expansion < 2 || g.Expansion > 1000:
		return errors.New("goal " + g.Name + ": give 0 to 16 preceding targets and an expansion of 2 to 1000")
	}
	return nil
}

// Forgives returns the total time for which trials at a load may have high loss while the
// load is still a lower bound.
func (g Goal) Forgives() time.Duration {
	return time.Duration(new(big.Int).Div(new(big.Int).Mul(big.NewInt(int64(g.DurationSum)), big.NewInt(g.ExceedRatioPPM)), big.NewInt(million)).Int64())
}

// target is a goal, or one of the coarser ones before it.
type target struct {
	loss, exceed  int64
	duration, sum time.Duration
	// width relative to the upper bound, and of line rate, both in ppm.
	relative, absolute int64
	expansion          int64
}

// targets of a goal, the coarsest first: durations grow geometrically from the
// initial to the final one, widths halve each time.
func (g Goal) targets(resolution int64) []target {
	n := g.PrecedingTargets
	list := make([]target, n+1)
	for i := range list {
		share := float64(n - i)
		if n > 0 {
			share /= float64(n)
		}
		list[i] = target{
			loss: g.LossRatioPPM, exceed: g.ExceedRatioPPM, expansion: g.Expansion,
			duration: shrink(g.FinalTrialDuration, g.InitialTrialDuration, share),
			sum:      shrink(g.DurationSum, g.InitialTrialDuration, share),
			relative: min(g.WidthPPM<<(n-i), million/2), absolute: min(resolution<<(n-i), million),
		}
	}
	return list
}

// shrink goes the given share of the way from long to short on a logarithmic
// scale. The ends are exact, what lies between is whole milliseconds.
func shrink(long, short time.Duration, share float64) time.Duration {
	switch {
	case share == 0 || long == short:
		return long
	case share == 1:
		return short
	}
	d := time.Duration(float64(long) * math.Pow(float64(short)/float64(long), share)).Round(time.Millisecond)
	return min(max(d, short), long)
}

// width returns the maximum distance between the bounds of the target.
func (t target) width(upper int64) int64 { return max(t.absolute, upper*t.relative/million, 1) }

// sums are the four sums of trial durations by which RFC 9971 classifies a load.
type sums struct{ goodLong, badLong, goodShort, badShort time.Duration }

func (t target) sums(trials []Trial) sums {
	var s sums
	for _, trial := range trials {
		bad, long := trial.Verdict.exceeds(t.loss), trial.Duration >= t.duration
		switch {
		case long && bad:
			s.badLong += trial.Duration
		case long:
			s.goodLong += trial.Duration
		case bad:
			s.badShort += trial.Duration
		default:
			s.goodShort += trial.Duration
		}
	}
	return s
}

// class of a load.
type class int

const (
	undecided class = iota
	lower
	upper
)

// classify is the load classification of RFC 9971, appendix A, in exact
// fractions: what the load would be if all trials that are still missing had low
// loss, and if all had high loss.
func (t target) classify(s sums) class {
	exceed := big.NewRat(t.exceed, million)
	// Short trials with high loss count unless short ones with low loss balance them.
	balance := new(big.Rat).Mul(rat(s.goodShort), big.NewRat(t.exceed, million-t.exceed))
	bad := rat(s.badLong)
	if excess := new(big.Rat).Sub(rat(s.badShort), balance); excess.Sign() > 0 {
		bad.Add(bad, excess)
	}
	whole := new(big.Rat).Add(rat(s.goodLong), bad)
	if sum := rat(t.sum); whole.Cmp(sum) < 0 {
		whole = sum
	}
	quantile := new(big.Rat).Mul(whole, exceed)
	optimistic := bad.Cmp(quantile) <= 0
	pessimistic := new(big.Rat).Sub(whole, rat(s.goodLong)).Cmp(quantile) <= 0
	switch {
	case optimistic && pessimistic:
		return lower
	case !optimistic && !pessimistic:
		return upper
	}
	return undecided
}

func rat(d time.Duration) *big.Rat { return big.NewRat(int64(d), 1) }

// conditional is the Conditional Throughput of RFC 9971, appendix B, at a load:
// the load less the loss ratio that the goal's quantile of the full-length
// trials does not exceed.
func (t target) conditional(ppm int64, trials []Trial) *big.Rat {
	var long []Trial
	for _, trial := range trials {
		if trial.Duration >= t.duration {
			long = append(long, trial)
		}
	}
	slices.SortStableFunc(long, func(a, b Trial) int { return lossRatio(a.Verdict).Cmp(lossRatio(b.Verdict)) })
	s := t.sums(trials)
	remaining := new(big.Rat).Mul(rat(max(t.sum, s.goodLong+s.badLong)), big.NewRat(million-t.exceed, million))
	quantile := new(big.Rat)
	for i, trial := range long {
		if i > 0 && remaining.Sign() <= 0 {
			break
		}
		quantile = lossRatio(trial.Verdict)
		remaining.Sub(remaining, rat(trial.Duration))
	}
	if len(long) == 0 || remaining.Sign() > 0 {
		quantile = big.NewRat(1, 1)
	}
	return quantile.Mul(quantile.Sub(big.NewRat(1, 1), quantile), big.NewRat(ppm, 1))
}

// lossRatio is the Trial Loss Ratio. Of a tester that sent less than intended it
// counts what was not sent as lost, so that the load is not overrated.
func lossRatio(v Verdict) *big.Rat {
	if v.Intended == 0 || v.Lost > v.due() {
		if v.Passed {
			return new(big.Rat)
		}
		return big.NewRat(1, 1)
	}
	share := v.arrived()
	share.Quo(share, new(big.Rat).SetInt(new(big.Int).SetUint64(v.Intended)))
	if ratio := share.Sub(big.NewRat(1, 1), share); ratio.Sign() > 0 {
		return ratio
	}
	return new(big.Rat) // more was sent than intended
}
