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
// The load is closed in by short trials: one that loses a frame says as much as a
// long one, and ends as early, and only one that loses nothing has to be believed
// less. A load is tried at full length as soon as a failure stands within the
// resolution above it, so that a well-behaved device has one trial of full length.
//
// Deep buffers hide an overload from short trials. They are found out by what comes
// through while frames are lost: when two loads end in the same rate, below a load
// that passed, that rate is the limit of the device, and from then on only trials of
// full length are believed.
//
// A disturbed trial must not decide. A load that failed is an upper bound of the
// result only together with a second failure not more than the resolution above
// the lower end: when there is none yet, another trial looks for it before the
// full one is run, and when that finds no loss, the first failure is taken for a
// disturbance and the search goes on above it. A failure at full length is never
// taken back: no load at or above it is reported.
func Informed(ctx context.Context, cfg Config, start int64, source string, m Measurer) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	s := &informed{
		manager: manager{cfg: cfg, m: m}, step: cfg.ResolutionPPM, stride: cfg.ResolutionPPM, short: shortTrial(cfg),
		passed: map[int64]time.Duration{}, saturated: map[int64]int64{},
	}
	err := s.search(ctx, start)
	result := s.result()
	if start > 0 {
		result.Start = source
	}
	if errors.Is(err, errCapped) {
		result.Capped, err = true, nil
	}
	return result, err
}

// shortTrial is the length of the trials before the full one: a twentieth of it, 3 s
// of 60 s. Where loss begins slowly, a shorter trial passes where the full one fails
// mostly; a longer one costs more than it finds out.
func shortTrial(cfg Config) time.Duration {
	return min(cfg.SearchTrialDuration, max(cfg.TrialDuration/20, 100*time.Millisecond))
}

const (
	// forgivenMost is the maximum number of failures that a search takes back. A device that
	// fails at random more often is bracketed by all its failures.
	forgivenMost = 3
	// noise is the share of a load, one in so many, that may be missing without saying
	// anything about what the device forwards.
	noise = 2000
)

type informed struct {
	manager
	// step is the distance of neighbouring loads, and short the length of the trials
	// that close in on the result.
	step  int64
	short time.Duration
	// stride is the distance of the next step in search of a missing bound.
	stride int64
	// passed is the longest trial that passed at a load.
	passed map[int64]time.Duration
	// failed are the failures that count.
	failed []failure
	// forgiven is the number of failures that were taken back.
	forgiven int
	// estimate is the rate without loss in a trial of full length that the last
	// failure points to, 0 when that says nothing.
	estimate int64
	// saturated is the rate that the device forwarded at the end of trials that failed, by
	// load.
	saturated map[int64]int64
	// buffered reports whether the device passes short trials from its buffers.
	buffered bool
}

// failure is a trial that did not pass.
type failure struct {
	ppm      int64
	duration time.Duration
	// nothing reports whether nothing was received.
	nothing bool
}

func (s *informed) search(ctx context.Context, start int64) error {
	// The hints are loads found, which are rounded down: the limit lies above them.
	first := s.cfg.MaxPPM
	if start > 0 {
		first = s.snap(min(start, s.cfg.MaxPPM) + s.step)
	}
	if err := s.warmUp(ctx, first); err != nil {
		return err
	}
	passed, err := s.measure(ctx, first, s.short)
	if err != nil {
		return err
	}
	if !passed && s.failed[0].nothing && first > s.cfg.MinPPM {
		if _, err := s.measure(ctx, s.cfg.MinPPM, s.short); err != nil {
			return err
		}
	}
	for {
		if sure, err := s.corroborate(ctx); err != nil {
			return err
		} else if !sure {
			continue
		}
		ppm, d := s.next()
		if ppm == 0 {
			return nil
		}
		if _, err := s.measure(ctx, ppm, d); err != nil {
			return err
		}
	}
}

// measure runs a trial and takes down what it says.
func (s *informed) measure(ctx context.Context, ppm int64, d time.Duration) (bool, error) {
	v, err := s.try(ctx, ppm, d)
	if err != nil {
		return false, err
	}
	if v.Passed {
		s.passed[ppm] = max(s.passed[ppm], d)
		return true, nil
	}
	s.failed = append(s.failed, failure{ppm, d, v.NothingReceived})
	s.stride, s.estimate = s.step, 0
	forwarded, hidden := v.SaturatedPPM, s.trials[len(s.trials)-1].Sending()
	if forwarded == 0 {
		forwarded, hidden = v.forwarded(ppm), 0
	}
	if forwarded == 0 || forwarded >= ppm-ppm/noise {
		return false, nil
	}
	// What was in excess for so long went to the buffers. A trial of full length may
	// use them as well.
	s.estimate = forwarded + int64(float64(ppm-forwarded)*(float64(hidden)/float64(s.cfg.TrialDuration)))
	if v.SaturatedPPM > 0 {
		s.saturate(ppm, forwarded)
	}
	return false, nil
}

// saturate notes what the device forwarded while it lost frames. A rate that two
// loads have in common is the limit of the device; what passed above it did so from
// buffers.
func (s *informed) saturate(ppm, forwarded int64) {
	low, _ := s.bounds(s.short)
	for other, rate := range s.saturated {
		if other != ppm && max(rate-forwarded, forwarded-rate) <= s.step && low > s.estimate+s.step {
			s.buffered = true
		}
	}
	s.saturated[ppm] = forwarded
}

// bounds are the highest load that passed for at least d, and the lowest load that
// failed; 0 where there is none.
func (s *informed) bounds(d time.Duration) (low, high int64) {
	for _, f := range s.failed {
		if high == 0 || f.ppm < high {
			high = f.ppm
		}
	}
	for ppm, passed := range s.passed {
		if passed >= d && (high == 0 || ppm < high) {
			low = max(low, ppm)
		}
	}
	return low, high
}

// believed is the length of trials that are believed when they pass.
func (s *informed) believed() time.Duration {
	if s.buffered {
		return s.cfg.TrialDuration
	}
	return s.short
}

// next is the load that is tried next, and for how long; 0 at the end.
func (s *informed) next() (int64, time.Duration) {
	low, high := s.bounds(s.believed())
	var ppm int64
	switch {
	case high == s.cfg.MinPPM:
		return 0, 0
	case low == s.cfg.MaxPPM, low > 0 && high > 0 && high-low <= s.step:
		if s.passed[low] >= s.cfg.TrialDuration {
			return 0, 0
		}
		return low, s.cfg.TrialDuration
	case high == 0:
		ppm = s.snap(low + s.stride)
		s.stride *= 2
		return ppm, s.believed()
	case low == 0 && s.estimate > 0 && s.estimate < high:
		ppm, s.estimate = min(s.snap(s.estimate), s.below(high, s.step)), 0
	case low == 0:
		ppm = s.below(high, s.stride)
		s.stride *= 2
	case s.estimate > low && s.estimate < high:
		ppm, s.estimate = max(min(s.snap(s.estimate), s.below(high, s.step)), s.snap(low+s.step)), 0
	case s.buffered:
		// A trial that passes takes its full length, one that fails ends early.
		ppm = min(s.middle(low, high), s.snap(low+s.stride))
		s.stride *= 2
	default:
		ppm = s.middle(low, high)
	}
	if high-ppm <= s.step {
		return ppm, s.cfg.TrialDuration // If it passes, it is the result.
	}
	return ppm, s.believed()
}

// corroborate makes sure that a second failure stands by the lowest one once the
// bounds are close. It returns false when it has run another trial.
func (s *informed) corroborate(ctx context.Context) (bool, error) {
	low, high := s.bounds(s.believed())
	if high == 0 || s.forgiven == forgivenMost || high > s.cfg.MinPPM && (low == 0 || high-low > s.step) {
		return true, nil
	}
	limit := max(high, min(low+s.step, s.cfg.MaxPPM))
	if low == 0 {
		limit = high
	}
	near, longest := 0, s.short
	for _, f := range s.failed {
		if f.ppm == high && (f.duration >= s.cfg.TrialDuration || f.nothing) {
			return true, nil
		}
		if f.ppm <= limit {
			near++
			longest = max(longest, f.duration)
		}
	}
	if near > 1 {
		return true, nil
	}
	passed, err := s.measure(ctx, limit, longest)
	if err != nil || !passed {
		return false, err
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
	r := Result{Trials: s.trials, Forgiven: s.forgiven}
	low, high := s.bounds(s.cfg.TrialDuration)
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
// they send, by the means of docs/design/search.md.
func EstimateInformed(cfg Config) (trials int, sending time.Duration) {
	if shortTrial(cfg) == cfg.TrialDuration {
		return 6, 6 * cfg.TrialDuration
	}
	return 6, 5*shortTrial(cfg) + cfg.TrialDuration
}
