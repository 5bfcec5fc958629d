package search

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"time"
)

// Config bounds a search. Loads are in parts per million of line rate.
type Config struct {
	// MinPPM and MaxPPM are the lowest and highest load that is tried, at least 1.
	MinPPM, MaxPPM int64
	// ResolutionPPM is the width of the bracket at which the search ends, at least 1.
	ResolutionPPM int64
	// TrialDuration is the length of the trial that confirms the result.
	TrialDuration time.Duration
	// SearchTrialDuration is the length of the trials before it; not longer.
	SearchTrialDuration time.Duration
	// WarmUp is the length of a trial that is run first and not looked at, 0 for
	// none.
	WarmUp time.Duration
	// TimeCap ends the search before a trial with which it would take longer, 0 for
	// no cap. The time of a search is that of its trials, each with Overhead.
	TimeCap time.Duration
	// Overhead is the time that every trial takes in addition to its duration: settling and
	// rest.
	Overhead time.Duration
}

// Validate reports settings with which no search can end.
func (c Config) Validate() error {
	switch {
	case c.MinPPM < 1 || c.MaxPPM < c.MinPPM:
		return fmt.Errorf("search bounds are %d to %d ppm: give a lowest load of at least 1 ppm and a highest that is not below it", c.MinPPM, c.MaxPPM)
	case c.ResolutionPPM < 1:
		return fmt.Errorf("search resolution is %d ppm: give at least 1 ppm", c.ResolutionPPM)
	case c.SearchTrialDuration <= 0 || c.TrialDuration < c.SearchTrialDuration:
		return errors.New("the trials of the search must be longer than 0 and not longer than the confirmation")
	case c.WarmUp < 0 || c.TimeCap < 0 || c.Overhead < 0:
		return errors.New("the warm-up, the time cap and the overhead of a trial must not be below 0")
	}
	return nil
}

// Verdict contains the result of one trial at one load.
type Verdict struct {
	// Passed reports whether the whole intended load left the tester and no frame of it
	// was lost.
	Passed bool
	// GeneratorBound reports whether the tester was the reason for not passing: it sent
	// less than intended, or lost frames itself.
	GeneratorBound bool
	// TesterLoss reports whether the tester may have lost the frames. It does not matter for
	// a loss that a goal allows.
	TesterLoss bool
	// NothingReceived reports whether not one frame came back. The lowest load is tried
	// next: a device that forwards nothing needs no search.
	NothingReceived bool
	// Intended, Sent and Lost frames. Binary does not need them; the others take
	// the loss ratio and the forwarding rate from them.
	Intended, Sent, Lost uint64
	// Expected is the number of frames that should have arrived, where a sent frame has
	// several receivers. Lost counts the frames of these that did not arrive. 0 means that each
	// sent frame has one receiver.
	Expected uint64
	// Repeated is the number of trials of the same length at the same load that ran before
	// this one, and did not count because the tester fell short.
	Repeated int
	// Sending is the sending time of the trial and of those that Repeated counts: less than
	// their duration if one was ended once it could not pass any more; 0 if none was.
	Sending time.Duration
	// SaturatedPPM is the part of the load that arrived while frames were lost, shortly
	// before the trial was ended, in parts per million of line rate: the rate that the
	// device forwards once its buffers are full. 0 means that it is not known.
	SaturatedPPM int64
}

// exceeds reports whether more than ratio parts per million of the frames were lost.
// What a tester that fell short says of the device is no loss.
func (v Verdict) exceeds(ratio int64) bool {
	if ratio == 0 || v.GeneratorBound && !v.TesterLoss || v.Sent == 0 || v.Sent < v.Intended {
		return !v.Passed
	}
	return Exceeds(v.Lost, v.due(), ratio)
}

// limited reports whether the tester was the reason why the loss ratio was exceeded. Frames that the
// device lost of an incomplete load are its own if they are more than the ratio allows.
func (v Verdict) limited(ratio int64) bool {
	return v.GeneratorBound && (v.TesterLoss || v.Lost == 0 || !Exceeds(v.Lost, v.due(), ratio))
}

// due returns the number of frames that should have arrived.
func (v Verdict) due() uint64 {
	if v.Expected > 0 {
		return v.Expected
	}
	return v.Sent
}

// Exceeds reports whether more than ratio parts per million of the frames that should have
// arrived were lost.
func Exceeds(lost, due uint64, ratio int64) bool {
	lostHigh, lostLow := bits.Mul64(lost, million)
	allowedHigh, allowedLow := bits.Mul64(due, uint64(ratio))
	return lostHigh > allowedHigh || lostHigh == allowedHigh && lostLow > allowedLow
}

// forwarded is the part of a load that arrived, rounded down: the forwarding
// rate of RFC 2285 in parts per million of line rate. 0 when it is not known.
func (v Verdict) forwarded(ppm int64) int64 {
	if v.Intended == 0 || v.Lost > v.due() || v.Sent > v.Intended {
		return 0
	}
	share := v.arrived()
	share.Mul(share, big.NewRat(ppm, 1))
	share.Quo(share, new(big.Rat).SetInt(new(big.Int).SetUint64(v.Intended)))
	return new(big.Int).Quo(share.Num(), share.Denom()).Int64()
}

// arrived returns the number of sent frames that arrived; with several receivers, on
// average at each. Something was sent, and not more lost than was due.
func (v Verdict) arrived() *big.Rat {
	if v.Sent == 0 {
		return new(big.Rat)
	}
	of := func(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
	share := new(big.Rat).SetFrac(of(v.due()-v.Lost), of(v.due()))
	return share.Mul(share, new(big.Rat).SetInt(of(v.Sent)))
}

const million = 1_000_000

// Measurer runs one trial at a load for a duration. A trial in which the tester
// fell short is run once more before it counts: a busy moment of the tester says
// nothing about the load.
type Measurer interface {
	Measure(ctx context.Context, loadPPM int64, duration time.Duration) (Verdict, error)
}

// Trial is one trial of a search.
type Trial struct {
	LoadPPM  int64
	Duration time.Duration
	Verdict  Verdict
	// WarmUp reports whether the trial was run to warm the device up; it decides nothing.
	WarmUp bool
}

// Sending returns the sending time of the trial, with its repetitions.
func (t Trial) Sending() time.Duration {
	if t.Verdict.Sending > 0 {
		return t.Verdict.Sending
	}
	return t.Duration * time.Duration(1+t.Verdict.Repeated)
}

// Bracket contains the bounds that a search has found so far.
type Bracket struct {
	// PassedPPM is the highest load that passed, 0 when none did yet.
	PassedPPM int64
	// FailedPPM is the lowest load above PassedPPM that did not pass, 0 when none
	// failed yet.
	FailedPPM int64
}

// Result contains the result of a search.
type Result struct {
	Bracket
	// GeneratorBound reports whether the tester was the limit: the load at
	// Bracket.FailedPPM did not pass because of the tester.
	GeneratorBound bool
	// Deciding is the index in Trials of the trial that decided the result: the
	// passed one of full length, or the one at the lowest load when none passed.
	Deciding int
	// Trials in the order in which they ran.
	Trials []Trial
	// Capped reports whether the time cap ended the search: the load found passed a trial
	// of full length, but the bracket may be wider than the resolution.
	Capped bool
	// Forgiven is the number of failures that Informed took back, since a trial that was not
	// shorter then passed there or above: a disturbed moment, or a device that loses at
	// random.
	Forgiven int
	// Start describes where the search began and from which source that was known, such as
	// the source of a Hint; empty if nothing was known.
	Start string
	// Goals are the goal results of MLRsearch, in the order of its goals; nil for
	// the other searches.
	Goals []GoalResult
}

// Sending returns the sending time of all trials of the search, repetitions and warm-up
// included.
func (r Result) Sending() time.Duration {
	var sum time.Duration
	for _, t := range r.Trials {
		sum += t.Sending()
	}
	return sum
}

// TrialCount returns the number of trials, repetitions and warm-up included.
func (r Result) TrialCount() int {
	n := 0
	for _, t := range r.Trials {
		n += 1 + t.Verdict.Repeated
	}
	return n
}

// errCapped ends a search whose time is over.
var errCapped = errors.New("the time of the search is over")

// manager runs trials for a search: it keeps them, and watches the cap.
type manager struct {
	cfg    Config
	m      Measurer
	trials []Trial
	spent  time.Duration
}

// warmUp runs the trial that is not looked at.
func (g *manager) warmUp(ctx context.Context, ppm int64) error {
	if g.cfg.WarmUp == 0 {
		return nil
	}
	_, err := g.try(ctx, ppm, g.cfg.WarmUp)
	if err == nil {
		g.trials[0].WarmUp = true
	}
	return err
}

// try runs a trial, or returns errCapped when there is no time for it.
func (g *manager) try(ctx context.Context, ppm int64, d time.Duration) (Verdict, error) {
	if g.cfg.TimeCap > 0 && g.spent+d+g.cfg.Overhead > g.cfg.TimeCap {
		return Verdict{}, errCapped
	}
	v, err := g.m.Measure(ctx, ppm, d)
	if err != nil {
		return Verdict{}, err
	}
	t := Trial{LoadPPM: ppm, Duration: d, Verdict: v}
	g.trials = append(g.trials, t)
	g.spent += t.Sending() + time.Duration(1+v.Repeated)*g.cfg.Overhead
	return v, nil
}

// ThroughputPPM is the throughput: the highest load that passed a trial of full
// length, 0 when the lowest load did not pass.
func (r Result) ThroughputPPM() int64 { return r.PassedPPM }

// Func searches the throughput. On an error of the Measurer the result holds the
// trials that ran.
type Func func(ctx context.Context, cfg Config, m Measurer) (Result, error)
