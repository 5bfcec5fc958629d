package sim

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// phase is a part of a trial in which the same streams send.
type phase struct{ from, to time.Duration }

// flow describes what a stream sends in a trial, and when.
type flow struct {
	*traffic.Stream
	sent uint64
	// from is the time at which it begins, and lasts the time for which it sends.
	from, lasts time.Duration
	// steady reports whether it sends at its rate until the end. Over the whole trial, had
	// it begun with it, the rate makes full frames and a part of one in 2^-64.
	steady     bool
	full, part uint64
	// passage describes which of its frames come to a port; nil if all do.
	passage *passage
	// schedule of the port that sends it, at a rate; nil if the port is never late.
	schedule *fault.Schedule
	rate     traffic.Rate
	// all is the number of frames that leave the port.
	all uint64
}

// steadily notes what the rate of a stream makes in a trial of d, when it was
// neither held back nor ended before.
func (f *flow) steadily(load traffic.Load, d time.Duration) {
	if f.steady = f.schedule == nil && !load.Max && f.sent > 0 && f.from+f.lasts == d && f.sent == frames(load.Rate, f.lasts); f.steady {
		f.full, f.part = fraction(load.Rate, d)
	}
}

// thinned is the flow when another number of its frames arrives at a port.
func (f flow) thinned(arrive uint64) flow {
	if arrive != f.sent {
		f.sent, f.steady = arrive, false
	}
	return f
}

// fraction returns the exact number of frames that a rate makes in a time: whole frames, and
// the rest in units of 2^-64 frames, rounded up.
func fraction(r traffic.Rate, d time.Duration) (full, part uint64) {
	hi, lo := bits.Mul64(uint64(r.Frames), uint64(d))
	if hi >= uint64(r.PerNanos) {
		return math.MaxUint64, 0
	}
	full, rest := bits.Div64(hi, lo, uint64(r.PerNanos))
	part, rest = bits.Div64(rest, 0, uint64(r.PerNanos))
	if rest > 0 {
		part++
	}
	return full, part
}

// arrivals sums up what streams send, and how many frames more their rates make:
// parts of frames add up to whole ones. Other is for streams that are not steady.
func arrivals(flows []flow, other func(flow) uint64) (sent, short uint64) {
	var part, carry uint64
	for i := range flows {
		if f := &flows[i]; f.steady {
			sent += f.full
			part, carry = bits.Add64(part, f.part, 0)
			short += carry
			continue
		}
		sent += other(flows[i])
	}
	return sent, short
}

// upTo returns the number of frames that have been sent at a time.
func (f flow) upTo(t time.Duration) uint64 {
	switch {
	case f.passage != nil:
		return f.passage.in(phase{0, t})
	case t <= f.from:
		return 0
	case f.lasts <= 0:
		return f.sent
	case f.schedule != nil:
		due := max(0, min(f.schedule.Served(t)-f.from, f.lasts))
		return mulDiv(f.sent, min(f.all, frames(f.rate, due)), max(f.all, 1))
	}
	return mulDiv(f.sent, uint64(min(t-f.from, f.lasts)), uint64(f.lasts))
}

// over returns the number of frames that the flow would send in d if it had begun with the
// trial and sent for all of d.
func (f flow) over(d, lasts time.Duration) uint64 {
	sent := f.sent
	if f.passage != nil {
		sent = f.passage.sent // Its frames come as fast as if all did.
	}
	if lasts <= 0 {
		return sent
	}
	return mulDiv(sent, uint64(d), uint64(lasts))
}

// phases of a trial of d: one ends whenever a stream begins or has sent its frames,
// or the device begins or ends to forward it.
func phases(flows []flow, d time.Duration) []phase {
	ends := make([]time.Duration, 0, 2*len(flows)+1)
	for _, f := range flows {
		ends = append(ends, min(f.from, d), min(f.from+f.lasts, d))
		if f.passage != nil {
			for _, w := range f.passage.windows {
				ends = append(ends, w.from, w.to)
			}
		}
	}
	for _, f := range flows {
		for _, at := range f.schedule.Moments() {
			ends = append(ends, min(at, d))
		}
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

// lasts returns the time for which a stream sends in a trial of d in which the last stream
// begins at latest.
func (r *trialRun) lasts(load traffic.Load, d, latest time.Duration) time.Duration {
	if r.trial.Duration <= 0 {
		// The tester decides how long its frames take; all streams take as long.
		return max(0, d-latest)
	}
	d = max(0, d-load.Delay)
	if load.Max || load.Frames == 0 || load.Rate.Frames <= 0 {
		return d
	}
	return time.Duration(min(mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)), uint64(d)))
}

// latest returns the time at which the last stream begins.
func latest(loads map[uint16]traffic.Load) time.Duration {
	longest := time.Duration(0)
	for _, load := range loads {
		longest = max(longest, load.Delay)
	}
	return longest
}
