package search

import (
	"context"
	"errors"
)

var errNothingToSearch = errors.New("the longest burst is searched among at least 1 frame, to at least 1 frame")

// Longest finds the longest burst that passes: the greatest number from 1 to most
// for which try says yes, known to the resolution. It begins with start, a number
// that a search before has found, and goes from there in steps that double until
// one passed and one did not; without it, 0, it begins with most. Then the interval
// is halved. Longest returns 0 when not even 1 passes, and most when that passes.
// Every number returned above 0 passed.
func Longest(ctx context.Context, most, start, resolution int64, try func(ctx context.Context, n int64) (bool, error)) (int64, error) {
	if most < 1 || resolution < 1 {
		return 0, errNothingToSearch
	}
	passed, failed := int64(0), most+1 // most+1 was not tried
	next := most
	if start > 0 {
		next = min(start, most)
	}
	for step := resolution; ; step *= 2 {
		ok, err := try(ctx, next)
		if err != nil {
			return 0, err
		}
		if ok {
			passed = next
		} else {
			failed = next
		}
		switch {
		case passed == most, failed == 1:
			return passed, nil
		case passed > 0 && failed <= most, start == 0:
			return halveBurst(ctx, passed, failed, resolution, try)
		case ok:
			next = min(most, passed+step)
		default:
			next = max(1, failed-step)
		}
	}
}

// LongestBetween finds the longest burst that passes like Longest, for a number that is
// likely between low and high. It tries both, and goes on by halves of low and doubles of
// high until one passed and one did not. What it finds does not depend on an earlier result
// as long as low and high are far from the boundary.
func LongestBetween(ctx context.Context, low, high, most, resolution int64, try func(ctx context.Context, n int64) (bool, error)) (int64, error) {
	if most < 1 || resolution < 1 {
		return 0, errNothingToSearch
	}
	passed, failed := int64(0), most+1 // most+1 was not tried
	for next := min(max(1, low), most); passed == 0 && failed > 1; next = max(1, next/2) {
		ok, err := try(ctx, next)
		if err != nil {
			return 0, err
		}
		if ok {
			passed = next
		} else {
			failed = next
		}
	}
	for next := min(max(passed+1, high), most); failed > most && passed < most; next = min(next*2, most) {
		ok, err := try(ctx, next)
		if err != nil {
			return 0, err
		}
		if ok {
			passed = next
		} else {
			failed = next
		}
	}
	if passed == most || failed == 1 {
		return passed, nil
	}
	return halveBurst(ctx, passed, failed, resolution, try)
}

func halveBurst(ctx context.Context, passed, failed, resolution int64, try func(ctx context.Context, n int64) (bool, error)) (int64, error) {
	for failed-passed > resolution || passed == 0 && failed > 1 {
		middle := passed + (failed-passed)/2
		ok, err := try(ctx, middle)
		if err != nil {
			return 0, err
		}
		if ok {
			passed = middle
		} else {
			failed = middle
		}
	}
	return passed, nil
}
