package search

import (
	"context"
	"errors"
)

// burstTry sends a burst of n frames, and returns whether it passed.
type burstTry func(ctx context.Context, n int64) (bool, error)

// burstBracket contains the boundary between bursts that pass and longer ones: the longest
// that passed, 0 for none, and the shortest that failed, most+1 for none.
type burstBracket struct {
	try                  burstTry
	most, passed, failed int64
}

func newBurstBracket(most, resolution int64, try burstTry) (*burstBracket, error) {
	if most < 1 || resolution < 1 {
		return nil, errors.New("the longest burst is searched among at least 1 frame, to at least 1 frame")
	}
	return &burstBracket{try: try, most: most, failed: most + 1}, nil
}

// narrow tries a burst, and moves the end of the bracket that it shows.
func (b *burstBracket) narrow(ctx context.Context, n int64) error {
	ok, err := b.try(ctx, n)
	if err != nil {
		return err
	}
	if ok {
		b.passed = n
	} else {
		b.failed = n
	}
	return nil
}

// atAnEnd reports whether the longest burst passed, or a single frame failed.
func (b *burstBracket) atAnEnd() bool { return b.passed == b.most || b.failed == 1 }

// halve halves the bracket down to the resolution, and returns the longest burst that passed.
func (b *burstBracket) halve(ctx context.Context, resolution int64) (int64, error) {
	for b.failed-b.passed > resolution || b.passed == 0 && b.failed > 1 {
		if err := b.narrow(ctx, b.passed+(b.failed-b.passed)/2); err != nil {
			return 0, err
		}
	}
	return b.passed, nil
}

// Longest finds the longest burst that passes: the greatest number from 1 to most
// for which try says yes, known to the resolution. It begins with start, a number
// that a search before has found, and goes from there in steps that double until
// one passed and one did not; without it, 0, it begins with most. Then the interval
// is halved. Longest returns 0 when not even 1 passes, and most when that passes.
// Every number returned above 0 passed.
func Longest(ctx context.Context, most, start, resolution int64, try burstTry) (int64, error) {
	b, err := newBurstBracket(most, resolution, try)
	if err != nil {
		return 0, err
	}
	next := most
	if start > 0 {
		next = min(start, most)
	}
	for step := resolution; ; step *= 2 {
		if err := b.narrow(ctx, next); err != nil {
			return 0, err
		}
		switch {
		case b.atAnEnd():
			return b.passed, nil
		case b.passed > 0 && b.failed <= most, start == 0:
			return b.halve(ctx, resolution)
		case b.passed == next:
			next = min(most, b.passed+step)
		default:
			next = max(1, b.failed-step)
		}
	}
}

// LongestBetween finds the longest burst that passes like Longest, for a number that is
// likely between low and high. It tries both, and goes on by halves of low and doubles of
// high until one passed and one did not. What it finds does not depend on an earlier result
// as long as low and high are far from the boundary.
func LongestBetween(ctx context.Context, low, high, most, resolution int64, try burstTry) (int64, error) {
	b, err := newBurstBracket(most, resolution, try)
	if err != nil {
		return 0, err
	}
	for next := min(max(1, low), most); b.passed == 0 && b.failed > 1; next = max(1, next/2) {
		if err := b.narrow(ctx, next); err != nil {
			return 0, err
		}
	}
	for next := min(max(b.passed+1, high), most); b.failed > most && b.passed < most; next = min(next*2, most) {
		if err := b.narrow(ctx, next); err != nil {
			return 0, err
		}
	}
	if b.atAnEnd() {
		return b.passed, nil
	}
	return b.halve(ctx, resolution)
}
