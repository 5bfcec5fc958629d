package sim

import (
	"maps"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// odd describes what a device does to some frames at any load.
type odd struct {
	// corruptedPPM and truncatedPPM of the sent frames come back damaged.
	corruptedPPM, truncatedPPM int64
	// delayedPPM of the received frames come so many nanoseconds later than the others.
	delayedPPM int64
	delay      uint64
	// stall is for how long, at the beginning of every stallPeriod of simulated time,
	// the device forwards nothing.
	stall, stallPeriod time.Duration
}

// mixed is between the behavior of two sizes.
func (o odd) mixed(with odd, mix func(x, y int64) int64) odd {
	return odd{
		corruptedPPM: mix(o.corruptedPPM, with.corruptedPPM), truncatedPPM: mix(o.truncatedPPM, with.truncatedPPM),
		delayedPPM: mix(o.delayedPPM, with.delayedPPM), delay: uint64(mix(int64(o.delay), int64(with.delay))),
		stall: time.Duration(mix(int64(o.stall), int64(with.stall))), stallPeriod: time.Duration(mix(int64(o.stallPeriod), int64(with.stallPeriod))),
	}
}

// damage takes the damaged frames from those that a stream received, and adds them
// to those of the port.
func (o odd) damage(c *passed, m *traffic.Measurement, port string) {
	part := func(ppm int64) uint64 {
		n := min(c.received, mulDiv(c.sent, uint64(ppm), uint64(whole)))
		c.received -= n
		return n
	}
	d := traffic.Damage{Corrupted: part(o.corruptedPPM), Truncated: part(o.truncatedPPM)}
	if d == (traffic.Damage{}) {
		return
	}
	c.gapEnd = c.sent
	d.Add(m.Damaged[port])
	traffic.Put(&m.Damaged, port, d)
}

// delayed are the frames of a stream that come later than the others, of which each
// is overtaken.
func (o odd) delayed(received uint64) uint64 {
	if o.delay == 0 {
		return 0
	}
	return mulDiv(received, uint64(o.delayedPPM), uint64(whole))
}

// late adds the delay of n frames to a latency: they had the mean of all.
func (o odd) late(l traffic.Latency, n uint64) traffic.Latency {
	if n == 0 {
		return l
	}
	l.Buckets = maps.Clone(l.Buckets)
	last := l.SumNs/l.Count + o.delay
	for left := n; left > 0; {
		fullest := uint32(0)
		for i, frames := range l.Buckets {
			if most := l.Buckets[fullest]; frames > most || frames == most && i < fullest {
				fullest = i
			}
		}
		taken := min(left, l.Buckets[fullest])
		l.Buckets[fullest] -= taken
		left -= taken
		if l.Buckets[fullest] == 0 {
			delete(l.Buckets, fullest)
		}
	}
	l.Buckets[traffic.BucketIndex(last)] += n
	l.MaxNs = max(l.MaxNs, last)
	l.SumNs += n * o.delay
	l.JitterMaxNs = max(l.JitterMaxNs, o.delay)
	l.JitterSumNs += 2 * n * o.delay
	return l
}

// stalls are the times since the epoch, within a trial, in which the device forwards
// nothing.
func (o odd) stalls(trial window) []window {
	if o.stall == 0 {
		return nil
	}
	var all []window
	for from := trial.from / o.stallPeriod * o.stallPeriod; from < trial.to; from += o.stallPeriod {
		all = append(all, window{from, from + o.stall})
	}
	return all
}
