package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// below lets all numbers up to a limit pass.
func below(limit int64) func(int64) bool { return func(n int64) bool { return n <= limit } }

func TestCount(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg    CountConfig
		passes func(n int64) bool
		// wrong are the places of the tries, from 1, whose answer is the opposite.
		wrong []int
		tried []int64
		want  Counted
	}{
		"between": {CountConfig{Min: 1, Max: 100, Resolution: 1}, below(11), nil,
			[]int64{1, 2, 4, 8, 16, 12, 10, 11, 11, 12}, Counted{Passed: 11, Failed: 12, Tries: 10}},
		"a resolution": {CountConfig{Min: 1, Max: 1000, Resolution: 100}, below(350), nil,
			[]int64{1, 101, 202, 404, 303, 353, 303, 353}, Counted{Passed: 303, Failed: 353, Tries: 8}},
		"all": {CountConfig{Min: 3, Max: 20, Resolution: 1}, below(1000), nil,
			[]int64{3, 6, 12, 20, 20}, Counted{Passed: 20, Tries: 5}},
		"none": {CountConfig{Min: 3, Max: 20, Resolution: 1}, below(2), nil,
			[]int64{3, 3, 6}, Counted{Failed: 3, Tries: 3}},
		"one number": {CountConfig{Min: 5, Max: 5, Resolution: 1}, below(5), nil,
			[]int64{5, 5}, Counted{Passed: 5, Tries: 2}},
		"the largest fails": {CountConfig{Min: 1, Max: 8, Resolution: 1}, below(7), nil,
			[]int64{1, 2, 4, 8, 6, 7, 7, 8}, Counted{Passed: 7, Failed: 8, Tries: 8}},
		"a failure by chance": {CountConfig{Min: 1, Max: 16, Resolution: 1}, below(12), []int{3},
			[]int64{1, 2, 4, 3, 3, 4, 4, 8, 16, 12, 14, 13, 12, 13}, Counted{Passed: 12, Failed: 13, Tries: 14, Unsteady: []int64{4}}},
		"a pass by chance": {CountConfig{Min: 1, Max: 64, Resolution: 1}, below(9), []int{6},
			[]int64{1, 2, 4, 8, 16, 12, 14, 13, 12, 12, 10, 9, 9, 10}, Counted{Passed: 9, Failed: 10, Tries: 14, Unsteady: []int64{12}}},
		"the first by chance": {CountConfig{Min: 4, Max: 16, Resolution: 4}, below(100), []int{1},
			[]int64{4, 4, 4, 8, 16, 16}, Counted{Passed: 16, Tries: 6, Unsteady: []int64{4}}},
		"larger is not worse": {CountConfig{Min: 1, Max: 64, Resolution: 1}, func(n int64) bool { return n < 8 || n > 9 }, nil,
			[]int64{1, 2, 4, 8, 6, 7, 7, 8, 16}, Counted{Passed: 7, Failed: 8, Tries: 9, Above: []int64{16}}},
		"no more tries": {CountConfig{Min: 1, Max: 100, Resolution: 1, MaxTries: 6}, below(11), nil,
			[]int64{1, 2, 4, 8, 16, 12}, Counted{Passed: 8, Failed: 12, Tries: 6, Capped: true}},
		"no tries for the repetition": {CountConfig{Min: 1, Max: 2, Resolution: 1, MaxTries: 2}, below(2), nil,
			[]int64{1, 2}, Counted{Passed: 2, Tries: 2, Capped: true}},
		"as many answers of both kinds": {CountConfig{Min: 5, Max: 5, Resolution: 1, MaxTries: 2}, below(5), []int{2},
			[]int64{5, 5}, Counted{Failed: 5, Tries: 2, Capped: true, Unsteady: []int64{5}}},
	} {
		t.Run(name, func(t *testing.T) {
			var tried []int64
			got, err := Count(t.Context(), tc.cfg, func(_ context.Context, n int64) (bool, error) {
				tried = append(tried, n)
				passed := tc.passes(n)
				for _, place := range tc.wrong {
					passed = passed != (place == len(tried))
				}
				return passed, nil
			})
			if err != nil || !reflect.DeepEqual(got, tc.want) || !reflect.DeepEqual(tried, tc.tried) {
				t.Errorf("found %+v, %v by %v; want %+v by %v", got, err, tried, tc.want, tc.tried)
			}
			if got.Steady() != (len(tc.want.Unsteady)+len(tc.want.Above) == 0) {
				t.Errorf("steady: %t", got.Steady())
			}
		})
	}
}

// Whatever the bounds and the resolution are, a steady boundary is found to the resolution, in no more tries than the estimate.
func TestCountFindsEachBoundary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		cfg := CountConfig{Min: 1 + r.Int64N(1<<r.IntN(17)), Resolution: 1 + r.Int64N(1<<r.IntN(12))}
		cfg.Max = cfg.Min + r.Int64N(1<<r.IntN(17))
		limit := cfg.Min - 1 + r.Int64N(cfg.Max-cfg.Min+2)
		got, err := Count(t.Context(), cfg, func(_ context.Context, n int64) (bool, error) {
			if n < cfg.Min || n > cfg.Max {
				t.Fatalf("%+v: tried %d", cfg, n)
			}
			return n <= limit, nil
		})
		passed, failed := got.Passed, got.Failed
		if err != nil || !got.Steady() || got.Capped || passed > limit || failed > 0 && failed <= limit ||
			(passed == 0) != (limit < cfg.Min) || (failed == 0) != (limit >= cfg.Max) || passed > 0 && failed > 0 && failed-passed > cfg.Resolution || passed == 0 && failed != cfg.Min || failed == 0 && passed != cfg.Max {
			t.Fatalf("%+v with the limit %d: found %+v, %v", cfg, limit, got, err)
		}
		if most := EstimateCount(cfg); got.Tries > most {
			t.Fatalf("%+v with the limit %d took %d tries, more than the estimate %d", cfg, limit, got.Tries, most)
		}
	}
}

// A device with chance in a band around its boundary ends the search as well: both ends have the answers that the result states, and are in
// the band or next to it.
func TestCountEndsWithChance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		cfg := CountConfig{Min: 1, Max: 1 + r.Int64N(5_000), Resolution: 1 + r.Int64N(8)}
		from := r.Int64N(cfg.Max + 1)
		to := min(cfg.Max, from+r.Int64N(40))
		seen := map[int64]*answers{}
		got, err := Count(t.Context(), cfg, func(_ context.Context, n int64) (bool, error) {
			passed := n <= from || n <= to && r.IntN(2) == 0
			if seen[n] == nil {
				seen[n] = &answers{}
			}
			if passed {
				seen[n].passed++
			} else {
				seen[n].failed++
			}
			return passed, nil
		})
		if err != nil || got.Passed > to || got.Failed > 0 && got.Failed <= from || got.Failed > 0 && got.Passed >= got.Failed {
			t.Fatalf("%+v with chance from %d to %d: found %+v, %v", cfg, from, to, got, err)
		}
		for n, a := range seen {
			if a.passed+a.failed > 3 {
				t.Fatalf("%d was tried %d times", n, a.passed+a.failed)
			}
		}
		if a := seen[got.Passed]; got.Passed > 0 && (a.passed < 2 || a.failed >= a.passed) {
			t.Fatalf("%d counts as passed after %+v", got.Passed, *a)
		}
		if a := seen[got.Failed]; got.Failed > 0 && (a.failed < 2 || a.passed >= a.failed) {
			t.Fatalf("%d counts as failed after %+v", got.Failed, *a)
		}
	}
}

func TestCountKeepsWhatItFound(t *testing.T) {
	broken := errors.New("broken")
	got, err := Count(t.Context(), CountConfig{Min: 1, Max: 100, Resolution: 1}, func(_ context.Context, n int64) (bool, error) {
		if n > 6 {
			return false, broken
		}
		return true, nil
	})
	if want := (Counted{Passed: 4, Tries: 3}); !errors.Is(err, broken) || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestCountRefuses(t *testing.T) {
	try := func(context.Context, int64) (bool, error) { return true, nil }
	for name, cfg := range map[string]CountConfig{
		"a minimum of 0":       {Max: 5, Resolution: 1},
		"a maximum below it":   {Min: 6, Max: 5, Resolution: 1},
		"no resolution":        {Min: 1, Max: 5},
		"a negative number":    {Min: 1, Max: 5, Resolution: 1, MaxTries: -1},
		"a resolution below 0": {Min: 1, Max: 5, Resolution: -1},
	} {
		if got, err := Count(t.Context(), cfg, try); err == nil || EstimateCount(cfg) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := Count(t.Context(), CountConfig{Min: 1, Max: 5, Resolution: 1}, nil); err == nil {
		t.Error("accepted a search that tries nothing")
	}
}
