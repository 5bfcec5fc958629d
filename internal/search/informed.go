package search

import (
	"context"
	"errors"
	"time"
)

// Informed searches the throughput from what is already known. It begins at start,
// a load in parts per million of line rate that Predict made of hints, or, with
// start 0, at what the device forwards of the highest load.
//
// The load is closed in by trials that are as short as can be: a short trial that
// loses a frame says as much as a long one, and only one that loses nothing has
// to be believed less. So a bracket is first found with the shortest trials, its
// lower end is then tried for longer, and then at full length, which is the only
// trial of that length when the device is well-behaved.
//
// A disturbed trial must not decide. A load that failed is an upper bound of the
// result only together with a second failure not more than the resolution above
// the lower end: when there is none yet, a short trial looks for it before the
// full one is run, and when that finds no loss, the first failure is taken for a
// disturbance and the search goes on above it. A failure at full length is never
// taken back: no load at or above it is reported.
func Informed(ctx context.Context, cfg Config, start int64, source string, m Measurer) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	s := &informed{manager: manager{cfg: cfg, m: m}, start: start, passed: map[int64]time.Duration{}}
	s.levels = levels(cfg)
	s.step = max(cfg.ResolutionPPM/2, 1)
	err := s.search(ctx)
	result := s.result()
	if start > 0 {
		result.Start = source
	}
	if errors.Is(err, errCapped) {
		result.Capped, err = true, nil
	}
	return result, err
}

// levels are the lengths of trials: short to close in, longer before the full
// trial is spent, and full. For 60 s they are 0.5 s, 3 s and 60 s: where loss
// begins slowly, the trial of 3 s finds mostly what would have cost a full one,
// and it costs a twentieth of it.
func levels(cfg Config) []time.Duration {
	full := cfg.TrialDuration
	list := []time.Duration{min(cfg.SearchTrialDuration, max(full/120, 100*time.Millisecond))}
	if middle := min(cfg.SearchTrialDuration, full/20); middle > list[0] {
		list = append(list, middle)
	}
	if list[len(list)-1] < full {
		list = append(list, full)
	}
	return list
}

// forgivenMost is how often a search takes a failure back. A device that fails at
// random beyond that is bracketed by all its failures.
const forgivenMost = 3

type informed struct {
	manager
	start  int64
	levels []time.Duration
	// step is the distance of neighbouring loads: half of the resolution, so that
	// two failures fit into it.
	step int64
	// passed is the longest trial that passed at a load.
	passed map[int64]time.Duration
	// failed are the failures that count.
	failed []failure
	// forgiven is how often failures were taken back.
	forgiven int
	// estimate is what the device forwarded in the last trial that failed, 0 when
	// that says nothing.
	estimate int64
}

type failure struct {
	ppm      int64
	duration time.Duration
	// trial is its index.
	trial int
}

func (s *informed) search(ctx context.Context) error {
	first := s.cfg.MaxPPM
	if s.start > 0 {
		first = s.snap(s.start)
	}
	if err := s.warmUp(ctx, first); err != nil {
		return err
	}
	passed, err := s.measure(ctx, first, 0)
	if err != nil {
		return err
	}
	if last := s.trials[len(s.trials)-1]; !passed && last.Verdict.NothingReceived && first > s.cfg.MinPPM {
		if _, err := s.measure(ctx, s.cfg.MinPPM, 0); err != nil {
			return err
		}
	}
	full := len(s.levels) - 1
	for {
		for level := range full {
			if err := s.narrow(ctx, level); err != nil {
				return err
			}
		}
		sure, err := s.corroborate(ctx)
		if err != nil {
			return err
		}
		if sure {
			return s.narrow(ctx, full)
		}
	}
}

// measure runs a trial of a level.
func (s *informed) measure(ctx context.Context, ppm int64, level int) (bool, error) {
	d := s.levels[level]
	v, err := s.try(ctx, ppm, d)
	if err != nil {
		return false, err
	}
	if v.Passed {
		s.passed[ppm] = max(s.passed[ppm], d)
		return true, nil
	}
	s.failed = append(s.failed, failure{ppm, d, len(s.trials) - 1})
	s.estimate = 0
	// Less than a thousandth lost is noise, and says nothing about the capacity.
	if f := v.forwarded(ppm); f > 0 && f < ppm-ppm/1000 {
		s.estimate = f
	}
	return false, nil
}

// bounds are the highest load that passed for as long as a level asks for, and
// the lowest load that failed; 0 where there is none.
func (s *informed) bounds(level int) (low, high int64) {
	for _, f := range s.failed {
		if high == 0 || f.ppm < high {
			high = f.ppm
		}
	}
	for ppm, d := range s.passed {
		if d >= s.levels[level] && (high == 0 || ppm < high) {
			low = max(low, ppm)
		}
	}
	return low, high
}

// narrow brings the bounds of a level together.
func (s *informed) narrow(ctx context.Context, level int) error {
	for stride := s.step; ; {
		low, high := s.bounds(level)
		if low == s.cfg.MaxPPM || high == s.cfg.MinPPM || low > 0 && high > 0 && high-low <= s.step {
			return nil
		}
		var next int64
		switch shorter := s.shorter(level); {
		case low > 0 && high > 0:
			next = s.middle(low, high)
		case low > 0:
			next = s.snap(low + stride)
			stride *= 2
		case shorter > 0:
			next = shorter
		case s.estimate > 0 && s.estimate < high:
			next, s.estimate = min(s.snap(s.estimate), s.below(high, s.step)), 0
		default:
			next = s.below(high, stride)
			stride *= 2
		}
		if _, err := s.measure(ctx, next, level); err != nil {
			return err
		}
	}
}

// shorter is the highest load that passed a trial of a level below, and that no
// failure forbids; 0 when there is none.
func (s *informed) shorter(level int) int64 {
	if level == 0 {
		return 0
	}
	low, _ := s.bounds(level - 1)
	return low
}

// corroborate makes sure that a second failure stands by the lowest one. It
// returns false when the lowest was taken back instead.
func (s *informed) corroborate(ctx context.Context) (bool, error) {
	low, high := s.bounds(max(len(s.levels)-2, 0))
	if high == 0 || s.forgiven == forgivenMost {
		return true, nil
	}
	limit := max(high, min(low+s.cfg.ResolutionPPM, s.cfg.MaxPPM))
	if low == 0 {
		limit = high
	}
	near, longest := 0, s.levels[0]
	for _, f := range s.failed {
		if f.ppm <= limit {
			near++
			longest = max(longest, f.duration)
		}
		if f.ppm == high && f.duration >= s.cfg.TrialDuration {
			return true, nil
		}
	}
	if near > 1 {
		return true, nil
	}
	level := 0
	for s.levels[level] < longest {
		level++
	}
	passed, err := s.measure(ctx, limit, level)
	if err != nil || !passed {
		return true, err
	}
	s.forgiven++
	kept := s.failed[:0]
	for _, f := range s.failed {
		if f.ppm > limit {
			kept = append(kept, f)
		}
	}
	s.failed = kept
	return false, nil
}

// snap is the multiple of the step at or below a load, within the bounds.
func (s *informed) snap(ppm int64) int64 {
	return min(max(ppm/s.step*s.step, s.cfg.MinPPM), s.cfg.MaxPPM)
}

// below is the load that lies a stride below another.
func (s *informed) below(high, stride int64) int64 {
	return s.snap((high-1)/s.step*s.step - stride + s.step)
}

// middle is a multiple of the step between two loads, or any load between them.
func (s *informed) middle(low, high int64) int64 {
	if next := s.snap(split(low, high, s.step)); next > low {
		return next
	}
	return split(low, high, s.step)
}

// result keeps what passed at full length below everything that failed.
func (s *informed) result() Result {
	r := Result{Trials: s.trials}
	low, high := s.bounds(len(s.levels) - 1)
	r.PassedPPM, r.FailedPPM = low, high
	for i, t := range s.trials {
		if t.WarmUp {
			continue
		}
		if low > 0 && t.LoadPPM == low && t.Verdict.Passed && t.Duration >= s.cfg.TrialDuration || low == 0 && t.LoadPPM == high && !t.Verdict.Passed {
			r.Deciding = i
		}
		if t.LoadPPM == high && !t.Verdict.Passed {
			r.GeneratorBound = t.Verdict.GeneratorBound
		}
	}
	return r
}

// EstimateInformed is about how many trials an informed search takes, and how long
// they send: the medians of docs/design/search.md.
func EstimateInformed(cfg Config) (trials int, sending time.Duration) {
	all := levels(cfg)
	for _, d := range all[:len(all)-1] {
		sending += 5 * d
	}
	return 5*(len(all)-1) + 1, sending + cfg.TrialDuration
}
