package sim

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// arrivals says which frames of a stream come to an egress port of the device, and
// when: those that left the tester in windows in which the device forwards it.
type arrivals struct {
	// rate and delay at which sent frames leave the tester: frame k, counting from 0,
	// at the end of its interval, (k + 1) / rate after the delay.
	rate  traffic.Rate
	delay time.Duration
	sent  uint64
	// limited says that only what leaves in windows comes, and not everything.
	limited bool
	windows []window
}

// arrivals of a stream at a port in a trial of d.
func (e *Engine) arrivals(s *traffic.Stream, port string, tx traffic.TxCount, d time.Duration) arrivals {
	load := e.trial.Loads[s.ID]
	a := arrivals{rate: load.Rate, delay: load.Delay, sent: tx.Sent, limited: e.limited(s)}
	if load.Max || a.rate.Frames <= 0 || tx.Sent < tx.Intended {
		a.rate, a.delay = traffic.Rate{Frames: int64(tx.Sent), PerNanos: max(int64(d), 1)}, 0
	}
	if a.limited {
		a.windows = e.open(s, port, d)
		a.limited = len(a.windows) != 1 || a.windows[0] != window{0, d}
	}
	return a
}

// left is how many frames have left the tester at a time.
func (a *arrivals) left(at time.Duration) uint64 {
	return min(a.sent, mulDiv(uint64(a.rate.Frames), uint64(max(at-a.delay, 0)), uint64(a.rate.PerNanos)))
}

// leaves is when a frame leaves the tester.
func (a *arrivals) leaves(number uint64) time.Duration {
	return a.delay + time.Duration(mulDivUp(number+1, uint64(a.rate.PerNanos), uint64(max(a.rate.Frames, 1))))
}

// in is how many frames come in a part of the trial.
func (a *arrivals) in(ph phase) uint64 {
	var n uint64
	for _, w := range a.windows {
		if from, to := max(w.from, ph.from), min(w.to, ph.to); from < to {
			n += a.left(to) - a.left(from)
		}
	}
	return n
}

// end is one above the number of the last frame that comes.
func (a *arrivals) end() uint64 {
	end := uint64(0)
	for _, w := range a.windows {
		if from, to := a.left(w.from), a.left(w.to); from < to {
			end = to
		}
	}
	return end
}

// number is that of the n-th frame that comes, counting from 0.
func (a *arrivals) number(n uint64) uint64 {
	for _, w := range a.windows {
		from, to := a.left(w.from), a.left(w.to)
		if n < to-from {
			return from + n
		}
		n -= to - from
	}
	return a.sent
}

// skips are how often numbers are left out between two windows, or before the
// first one, and the number of the frame after the last time.
func (a *arrivals) skips() (count, end uint64) {
	var next uint64
	for _, w := range a.windows {
		from, to := a.left(w.from), a.left(w.to)
		if from == to {
			continue
		}
		if from > next {
			count, end = count+1, from
		}
		next = to
	}
	return count, end
}

// place gives a count its sequence numbers and its moments, where so far it counts
// only what came: the first and the last frame are as late as the lowest latency.
func (e *Engine) place(count *traffic.RxCount, a *arrivals) {
	first := uint64(0)
	if a.limited {
		first = a.number(0)
		skips, end := a.skips()
		if count.GapEnd > 0 {
			end = max(end, a.number(count.GapEnd))
		}
		count.Next, count.GapEnd = a.end(), end
		count.OutOfSequence = min(count.Received, count.OutOfSequence+skips)
	}
	start := e.start.Sub(epoch)
	count.FirstNs = uint64(start+a.leaves(first)) + count.Latency.MinNs
	count.LastNs = uint64(start+a.leaves(count.Next-1)) + count.Latency.MinNs
}

// split divides phases where a window begins or ends.
func split(parts []phase, all []arrivals) []phase {
	var edges []time.Duration
	for i := range all {
		if !all[i].limited {
			continue
		}
		for _, w := range all[i].windows {
			edges = append(edges, w.from, w.to)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var fine []phase
	for _, ph := range parts {
		for _, edge := range edges {
			if edge > ph.from && edge < ph.to {
				fine = append(fine, phase{ph.from, edge})
				ph.from = edge
			}
		}
		fine = append(fine, ph)
	}
	return fine
}
