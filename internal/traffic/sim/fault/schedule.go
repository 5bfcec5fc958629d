package fault

import (
	"math"
	"math/big"
	"slices"
	"time"
)

// Schedule maps the time of a trial to the time up to which a port that stalls has sent its
// frames. The zero value describes a port that is never late.
type Schedule struct {
	stalls []stall
}

// never is the end of a pause that a port at line rate cannot make up for.
const never = time.Duration(math.MaxInt64)

// stall is a pause and the time in which the port catches up.
type stall struct {
	// from and until bound the pause, and end is the time at which the port has caught up.
	from, until, end time.Duration
	// haste is the line rate as a multiple of the load of the port.
	haste float64
}

// NewSchedule returns the schedule of a port that pauses in events; nil for one that never pauses.
// Haste is the line rate of the port as a multiple of its load. A port at line rate stays late.
// A pause that another port cannot make up for within length is left out.
func NewSchedule(events []Event, port string, haste *big.Rat, length time.Duration) *Schedule {
	s := &Schedule{}
	k, _ := haste.Float64()
	for _, e := range events {
		if e.Kind != Stall || !e.Has(port) {
			continue
		}
		pause, n := e.To-e.From, len(s.stalls)
		if k < 1.0001 {
			if n == 0 { // one is enough, since the port stays late
				s.stalls = append(s.stalls, stall{e.From, e.To, never, 1})
			}
			continue
		}
		if n > 0 && e.From < s.stalls[n-1].end {
			continue
		}
		took := float64(pause) / (k - 1)
		if took > float64(length-e.To) {
			continue
		}
		s.stalls = append(s.stalls, stall{e.From, e.To, e.To + time.Duration(math.Ceil(took)), k})
	}
	if len(s.stalls) == 0 {
		return nil
	}
	return s
}

// Behind returns the time by which the port is late at the end of the trial.
func (s *Schedule) Behind() time.Duration {
	if s == nil || s.stalls[0].end != never {
		return 0
	}
	return s.stalls[0].until - s.stalls[0].from
}

// Served returns the time of the schedule up to which the port has sent at a time.
func (s *Schedule) Served(at time.Duration) time.Duration {
	if s == nil {
		return at
	}
	for _, one := range s.stalls {
		switch {
		case at <= one.from || at >= one.end:
		case at <= one.until:
			return one.from
		case one.end == never:
			return at - (one.until - one.from)
		default:
			return min(at, one.from+time.Duration(one.haste*float64(at-one.until)))
		}
	}
	return at
}

// Leaves returns the time at which the port sends what the schedule has at a time.
func (s *Schedule) Leaves(due time.Duration) time.Duration {
	if s == nil {
		return due
	}
	for _, one := range s.stalls {
		if due > one.from && one.end == never {
			return due + (one.until - one.from)
		}
		if due > one.from && due < one.end {
			return max(due, one.until+time.Duration(float64(due-one.from)/one.haste))
		}
	}
	return due
}

// Moments returns the times at which the rate of the port changes.
func (s *Schedule) Moments() (all []time.Duration) {
	if s == nil {
		return nil
	}
	for _, one := range s.stalls {
		all = append(all, one.from, one.until, one.end)
	}
	return all
}

// Lag returns the longest pause up to a time.
func (s *Schedule) Lag(at time.Duration) (longest time.Duration) {
	if s == nil {
		return 0
	}
	for _, one := range s.stalls {
		longest = max(longest, min(one.until, max(at, one.from))-one.from)
	}
	return longest
}

// Bursts returns the times of the schedule that the port made up for up to a time, one for each
// burst that has begun.
func (s *Schedule) Bursts(at time.Duration) (all []time.Duration) {
	if s == nil {
		return nil
	}
	for _, one := range s.stalls {
		if at > one.until && one.end != never {
			all = append(all, s.Served(min(at, one.end))-one.from)
		}
	}
	return slices.Clip(all)
}
