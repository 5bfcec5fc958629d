package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// CountConfig bounds a search for the largest whole number that passes.
type CountConfig struct {
	// Min and Max are the lowest and the highest number that is tried, from 1.
	Min, Max int64
	// Resolution is the distance between the largest number that passed and the smallest that failed, at which
	// the search ends.
	Resolution int64
	// MaxTries is the number of tries after which the search ends in any case; 0 for no limit.
	MaxTries int
}

// Validate fails for bounds that are no range, and a resolution below 1.
func (c CountConfig) Validate() error {
	switch {
	case c.Min < 1 || c.Min > c.Max:
		return fmt.Errorf("the numbers %d to %d are no range: give 1 or more, and a maximum that is not below the minimum", c.Min, c.Max)
	case c.Resolution < 1:
		return fmt.Errorf("the resolution is %d: give 1 or more", c.Resolution)
	case c.MaxTries < 0:
		return fmt.Errorf("the number of tries is %d: give 1 or more, or 0 for no limit", c.MaxTries)
	}
	return nil
}

// CountTry tries a number, and returns whether it passed.
type CountTry func(ctx context.Context, n int64) (passed bool, err error)

// Counted is the result of a search for the largest number that passes.
type Counted struct {
	// Passed is the largest number below Failed that passed, and Failed the smallest one that failed; 0 for none.
	Passed, Failed int64
	// Tries of all numbers.
	Tries int
	// Capped reports whether MaxTries ended the search.
	Capped bool
	// Unsteady are the numbers that passed in one try and failed in another.
	Unsteady []int64
	// Above are the numbers above Failed that passed: a larger number is not always worse.
	Above []int64
}

// Steady reports whether each number had one answer, and no number above a failed one passed.
func (c Counted) Steady() bool { return len(c.Unsteady)+len(c.Above) == 0 }

// Count searches the largest number that passes. It begins at the lowest number, and doubles it until one fails, so that a device
// is never asked for far more than it can do. Then it halves the interval down to the resolution. A single try may be wrong, so both
// ends are tried again. If a repetition has another answer, a third try decides, and the search goes on from there. Finally, a
// number above the failed one is tried, unless one was: it has to fail as well. On an error, Count returns it with what it found before.
func Count(ctx context.Context, cfg CountConfig, try CountTry) (Counted, error) {
	if err := cfg.Validate(); err != nil {
		return Counted{}, err
	}
	if try == nil {
		return Counted{}, errors.New("there is nothing that tries a number")
	}
	s := &countSearch{cfg: cfg, answers: map[int64]*answers{}}
	for {
		n, more := s.next()
		if !more {
			return s.found(), nil
		}
		if s.tries == cfg.MaxTries && cfg.MaxTries > 0 {
			found := s.found()
			found.Capped = true
			return found, nil
		}
		passed, err := try(ctx, n)
		if err != nil {
			return s.found(), err
		}
		s.note(n, passed)
	}
}

// EstimateCount returns the number of tries of a search whose answers are steady: at most so many.
func EstimateCount(cfg CountConfig) (tries int) {
	if cfg.Validate() != nil {
		return 0
	}
	n, step := cfg.Min, int64(0)
	for tries = 1; n < cfg.Max; tries++ {
		step = max(n, cfg.Resolution)
		n = min(cfg.Max, n+step)
	}
	for ; step > cfg.Resolution; step = (step + 1) / 2 {
		tries++
	}
	return tries + 3
}

// answers counts the tries of a number by their answer.
type answers struct{ passed, failed int }

// countSearch is a search in hand. All its state are the answers.
type countSearch struct {
	cfg     CountConfig
	answers map[int64]*answers
	tries   int
}

func (s *countSearch) note(n int64, passed bool) {
	a := s.answers[n]
	if a == nil {
		a = &answers{}
		s.answers[n] = a
	}
	if passed {
		a.passed++
	} else {
		a.failed++
	}
	s.tries++
}

// numbers are the tried numbers in their order.
func (s *countSearch) numbers() []int64 { return slices.Sorted(maps.Keys(s.answers)) }

// bracket returns the ends of the interval; 0 for one that is not known. A number with as many answers of both kinds has failed.
func (s *countSearch) bracket() (passed, failed int64) {
	for _, n := range s.numbers() {
		if a := s.answers[n]; a.passed <= a.failed {
			return passed, n
		}
		passed = n
	}
	return passed, 0
}

// next returns the number that is tried next, and whether there is one.
func (s *countSearch) next() (n int64, more bool) {
	for _, n := range s.numbers() {
		if a := s.answers[n]; a.passed == a.failed {
			return n, true
		}
	}
	passed, failed := s.bracket()
	switch {
	case passed == 0 && failed == 0:
		return s.cfg.Min, true
	case failed == 0 && passed < s.cfg.Max:
		return min(s.cfg.Max, passed+max(passed, s.cfg.Resolution)), true
	case passed == 0 && failed > s.cfg.Min:
		return max(s.cfg.Min, failed/2), true
	case passed > 0 && failed-passed > s.cfg.Resolution:
		return passed + (failed-passed)/2, true
	}
	for _, end := range []int64{passed, failed} {
		if a := s.answers[end]; end > 0 && a.passed+a.failed < 2 {
			return end, true
		}
	}
	numbers := s.numbers()
	if failed > 0 && failed < s.cfg.Max && numbers[len(numbers)-1] == failed {
		return min(s.cfg.Max, 2*failed), true
	}
	return 0, false
}

func (s *countSearch) found() Counted {
	found := Counted{Tries: s.tries}
	found.Passed, found.Failed = s.bracket()
	for _, n := range s.numbers() {
		a := s.answers[n]
		if a.passed > 0 && a.failed > 0 {
			found.Unsteady = append(found.Unsteady, n)
		}
		if found.Failed > 0 && n > found.Failed && a.passed > a.failed {
			found.Above = append(found.Above, n)
		}
	}
	return found
}
