package search

import (
	"context"
	"errors"
	"testing"
)

func TestLongestFindsTheBoundary(t *testing.T) {
	const most = 1000
	for limit := int64(0); limit <= most; limit++ {
		for _, start := range []int64{0, 1, 500, limit, most} {
			for _, resolution := range []int64{1, 7} {
				trials := 0
				got, err := Longest(t.Context(), most, start, resolution, func(_ context.Context, n int64) (bool, error) {
					if n < 1 || n > most {
						t.Fatalf("tried %d", n)
					}
					trials++
					return n <= limit, nil
				})
				if err != nil || got > limit || got < min(limit, max(1, limit-resolution+1)) {
					t.Fatalf("limit %d from %d to %d: found %d %v", limit, start, resolution, got, err)
				}
				if trials > 24 {
					t.Fatalf("limit %d from %d to %d took %d trials", limit, start, resolution, trials)
				}
			}
		}
	}
}

func TestLongestBetweenFindsTheBoundary(t *testing.T) {
	const most = 1000
	for limit := int64(0); limit <= most; limit++ {
		for _, ends := range [][2]int64{{0, 0}, {1, 2}, {250, 500}, {limit / 2, 2 * limit}, {limit, limit + 1}, {most, most}, {2 * most, 4 * most}} {
			for _, resolution := range []int64{1, 7} {
				trials := 0
				got, err := LongestBetween(t.Context(), ends[0], ends[1], most, resolution, func(_ context.Context, n int64) (bool, error) {
					if n < 1 || n > most {
						t.Fatalf("tried %d", n)
					}
					trials++
					return n <= limit, nil
				})
				if err != nil || got > limit || got < min(limit, max(1, limit-resolution+1)) {
					t.Fatalf("limit %d between %v to %d: found %d %v", limit, ends, resolution, got, err)
				}
				if trials > 24 {
					t.Fatalf("limit %d between %v to %d took %d trials", limit, ends, resolution, trials)
				}
			}
		}
	}
	if _, err := LongestBetween(t.Context(), 1, 2, 0, 1, nil); err == nil {
		t.Error("accepted no burst at all")
	}
}

// A search that begins at the right number needs two trials.
func TestLongestBeginsWhereOneEnded(t *testing.T) {
	trials := 0
	got, err := Longest(t.Context(), 1_000_000, 4321, 1, func(_ context.Context, n int64) (bool, error) {
		trials++
		return n <= 4321, nil
	})
	if err != nil || got != 4321 || trials != 2 {
		t.Errorf("found %d in %d trials, %v", got, trials, err)
	}
}

func TestLongestTellsErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Longest(t.Context(), 10, 0, 1, func(context.Context, int64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := Longest(t.Context(), 0, 0, 1, nil); err == nil {
		t.Error("accepted no burst at all")
	}
}
