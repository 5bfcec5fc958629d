package sim

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// phase is a part of a trial in which the same streams send.
type phase struct{ from, to time.Duration }

// flow is what a stream sends in a trial, and when.
type flow struct {
	*traffic.Stream
	sent uint64
	// from is when it begins, lasts for how long it sends.
	from, lasts time.Duration
}

// upTo is how many frames have been sent by a time.
func (f flow) upTo(t time.Duration) uint64 {
	switch {
	case t <= f.from:
		return 0
	case f.lasts <= 0:
		return f.sent
	}
	return mulDiv(f.sent, uint64(min(t-f.from, f.lasts)), uint64(f.lasts))
}

// over is how many frames it would send in d, had it begun with the trial and gone
// on for this long.
func (f flow) over(d, lasts time.Duration) uint64 {
	if lasts <= 0 {
		return f.sent
	}
	return mulDiv(f.sent, uint64(d), uint64(lasts))
}

// phases of a trial of d: one ends whenever a stream begins or has sent its
// frames.
func phases(flows []flow, d time.Duration) []phase {
	ends := make([]time.Duration, 0, 2*len(flows)+1)
	for _, f := range flows {
		ends = append(ends, min(f.from, d), min(f.from+f.lasts, d))
	}
	ends = append(ends, d)
	slices.Sort(ends)
	var parts []phase
	from := time.Duration(0)
	for _, to := range slices.Compact(ends) {
		if to > from {
			parts = append(parts, phase{from, to})
			from = to
		}
	}
	return parts
}

// lasts is how long a stream sends in a trial of d in which the last stream
// begins at latest.
func (e *Engine) lasts(load traffic.Load, d, latest time.Duration) time.Duration {
	if e.trial.Duration <= 0 {
		// The tester decides how long its frames take; all streams take as long.
		return max(0, d-latest)
	}
	d = max(0, d-load.Delay)
	if load.Max || load.Frames == 0 || load.Rate.Frames <= 0 {
		return d
	}
	return time.Duration(min(mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)), uint64(d)))
}

// latest is when the last stream begins.
func latest(loads map[uint16]traffic.Load) time.Duration {
	longest := time.Duration(0)
	for _, load := range loads {
		longest = max(longest, load.Delay)
	}
	return longest
}
