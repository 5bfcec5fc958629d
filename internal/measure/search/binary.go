package search

import (
	"context"
	"errors"
	"math/bits"
	"time"
)

// Binary is the search of RFC 2544 section 26.1. It begins at the highest load
// and halves the interval between the highest load that passed and the lowest
// that did not, until that is no wider than the resolution. The load found is
// then tried at full length. When that trial does not pass, the shorter trials
// are no longer believed: the search goes on downwards from there, in steps
// that double, with trials of full length only, and halves again once one
// passed. So every throughput above 0 passed a trial of full length, and the
// number of trials is bounded.
func Binary(ctx context.Context, cfg Config, m Measurer) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	b := &binary{manager: manager{cfg: cfg, m: m}}
	err := b.warmUp(ctx, cfg.MaxPPM)
	if err == nil {
		err = b.search(ctx)
	}
	b.Trials = b.trials
	if errors.Is(err, errCapped) {
		b.capped()
		err = nil
	}
	return b.Result, err
}

type binary struct {
	Result
	manager
}

// capped keeps what passed at full length when the time is over: the highest such
// load below all that failed at full length.
func (b *binary) capped() {
	b.Capped, b.PassedPPM = true, 0
	for i, t := range b.trials {
		if !t.WarmUp && t.Verdict.Passed && t.Duration >= b.cfg.TrialDuration && (b.FailedPPM == 0 || t.LoadPPM < b.FailedPPM) && t.LoadPPM > b.PassedPPM {
			b.PassedPPM, b.Deciding = t.LoadPPM, i
		}
	}
}

// search runs the short trials, and falls back to full ones when the
// confirmation fails.
func (b *binary) search(ctx context.Context) error {
	if err := b.halve(ctx, b.cfg.SearchTrialDuration); err != nil {
		return err
	}
	if b.PassedPPM == 0 || b.cfg.SearchTrialDuration == b.cfg.TrialDuration {
		return nil
	}
	passed, err := b.decide(ctx, b.PassedPPM, b.cfg.TrialDuration)
	if err != nil || passed {
		return err
	}
	if err := b.descend(ctx); err != nil || b.PassedPPM == 0 {
		return err
	}
	return b.halve(ctx, b.cfg.TrialDuration)
}

// halve narrows the bracket to the resolution with trials of one length.
func (b *binary) halve(ctx context.Context, d time.Duration) error {
	if b.FailedPPM == 0 {
		passed, err := b.decide(ctx, b.cfg.MaxPPM, d)
		if err != nil || passed {
			return err
		}
		if last := b.trials[len(b.trials)-1]; last.Verdict.NothingReceived && b.FailedPPM > b.cfg.MinPPM {
			if passed, err := b.decide(ctx, b.cfg.MinPPM, d); err != nil || !passed {
				return err
			}
		}
	}
	for {
		// Until a load passed, the lowest one is the lower bound without having
		// been tried: it is tried only when everything above it failed.
		low := max(b.PassedPPM, b.cfg.MinPPM)
		next := b.between(low, b.FailedPPM)
		if b.FailedPPM-low <= b.cfg.ResolutionPPM {
			if b.PassedPPM > 0 || b.FailedPPM == b.cfg.MinPPM {
				return nil
			}
			next = low
		}
		if _, err := b.decide(ctx, next, d); err != nil {
			return err
		}
	}
}

// between is the middle one of the multiples of the resolution between two
// loads. There is one when they are further apart than the resolution.
func (b *binary) between(low, high int64) int64 {
	r := b.cfg.ResolutionPPM
	first, last := low/r+1, (high-1)/r
	return (first + (last-first)/2) * r
}

// descend goes down from a failed confirmation with trials of full length, in
// steps that double, until one passes or the lowest load failed.
func (b *binary) descend(ctx context.Context) error {
	r := b.cfg.ResolutionPPM
	for step := int64(1); b.FailedPPM > b.cfg.MinPPM; step *= 2 {
		next := ((b.FailedPPM-1)/r - (step - 1)) * r
		passed, err := b.decide(ctx, max(b.cfg.MinPPM, next), b.cfg.TrialDuration)
		if err != nil || passed {
			return err
		}
	}
	return nil
}

// decide runs one trial and moves the bracket.
func (b *binary) decide(ctx context.Context, ppm int64, d time.Duration) (bool, error) {
	v, err := b.try(ctx, ppm, d)
	if err != nil {
		return false, err
	}
	if v.Passed {
		b.PassedPPM, b.Deciding = ppm, len(b.trials)-1
		return true, nil
	}
	b.FailedPPM, b.GeneratorBound = ppm, v.GeneratorBound
	if ppm <= b.PassedPPM {
		b.PassedPPM = 0
	}
	if b.PassedPPM == 0 {
		b.Deciding = len(b.trials) - 1
	}
	return false, nil
}

// Estimate is about how many trials a binary search takes, and how long they
// send: the search itself with short trials, and one of full length.
func Estimate(cfg Config) (trials int, sending time.Duration) {
	short := 1 + halvings(cfg)
	if cfg.SearchTrialDuration == cfg.TrialDuration {
		return short, time.Duration(short) * cfg.TrialDuration
	}
	return short + 1, time.Duration(short)*cfg.SearchTrialDuration + cfg.TrialDuration
}

// halvings returns the number of times that the multiples of the resolution between the
// bounds can be halved until none is left.
func halvings(cfg Config) int {
	if cfg.ResolutionPPM < 1 || cfg.MaxPPM <= cfg.MinPPM {
		return 0
	}
	return bits.Len64(uint64((cfg.MaxPPM-1)/cfg.ResolutionPPM - cfg.MinPPM/cfg.ResolutionPPM))
}
