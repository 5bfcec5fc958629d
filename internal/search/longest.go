package search

import (
	"context"
	"errors"
)

// Longest finds the longest burst that passes: the greatest number from 1 to most
// for which try says yes, known to the resolution. It begins with start, a number
// that a search before has found, and goes from there in steps that double until
// one passed and one did not; without it, 0, it begins with most. Then the interval
// is halved. Longest returns 0 when not even 1 passes, and most when that passes.
// Every number returned above 0 passed.
func Longest(ctx context.Context, most, start, resolution int64, try func(ctx context.Context, n int64) (bool, error)) (int64, error) {
	if most < 1 || resolution < 1 {
		return 0, errors.New("the longest burst is searched among at least 1 frame, to at least 1 frame")
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
