package traffic

import (
	"context"
	"math"
	"time"
)

// Sample is a moment of a trial that runs. Frames in flight are missing in it, so
// that it never makes a total.
type Sample struct {
	// Interval is the number of the interval at whose end the sample was taken; the
	// first one is 1.
	Interval int
	// At is the time from the beginning of sending to the sample.
	At time.Duration
	// Sent and Received frames up to then, over all streams. Copies are not counted.
	Sent, Received uint64
	// Ports contains the counts of each port; nil unless the sampling requests them.
	Ports *PortSamples
	// Device contains the counts of the device; nil unless the sampling requests Ports and
	// a software device runs on the engine's machine.
	Device *DeviceSample
}

// Sampling sets when samples of a trial are taken.
type Sampling struct {
	// Interval between two samples, above 0.
	Interval time.Duration
	// Span from the beginning of sending that is sampled. A rest that is shorter than
	// an interval is left out.
	Span time.Duration
	// Ports asks for what each port has counted, by class of streams, and for what the device
	// has. That takes longer
	// to read: where it costs more than a hundredth of the time, intervals are left out.
	Ports bool
}

// readShare is the part of the time, one in so many, that reading samples of all ports
// may cost.
const readShare = 100

// Each calls read at the end of each interval of a trial that began at begin, with
// the interval's number. Read returns what it cost those that it disturbs: the time that it
// took, less what it waited for its turn. The lowest cost of the reads counts. Intervals that have
// ended before Each is called, or while read runs, are left out. Each returns nil after the last interval, and otherwise
// the error of read or of ctx.
func (s Sampling) Each(ctx context.Context, clock Clock, begin time.Time, read func(interval int) (cost time.Duration, err error)) error {
	lowest := time.Duration(math.MaxInt64)
	for last := time.Duration(0); ; {
		interval := max(clock.Now().Sub(begin)/s.Interval, last) + 1
		at := interval * s.Interval
		if at > s.Span {
			return nil
		}
		if err := clock.Sleep(ctx, begin.Add(at).Sub(clock.Now())); err != nil {
			return err
		}
		cost, err := read(int(interval))
		if err != nil {
			return err
		}
		last = interval
		if s.Ports {
			lowest = min(lowest, cost) // Other work on the machine can only add to it.
			last += lowest * readShare / s.Interval
		}
	}
}
