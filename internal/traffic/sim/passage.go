package sim

import (
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// passage describes which frames of a stream come to an egress port of the device, and when:
// the frames that left the tester in windows in which the device forwards the stream.
type passage struct {
	// rate and delay at which sent frames leave the tester: frame k, counting from 0,
	// at the end of its interval, (k + 1) / rate after the delay.
	rate  traffic.Rate
	delay time.Duration
	sent  uint64
	// schedule of the port that sends it; nil if the port is never late.
	schedule *fault.Schedule
	// limited reports whether only what leaves in windows comes, and not everything.
	limited bool
	windows []window
	// pieces contains the windows with the share of the stream's networks that is
	// forwarded in each; nil if all networks are forwarded.
	pieces []piece
}

// passage of a flow to a port in a trial of d.
func (fw *forwarding) passage(f flow, port string, tx traffic.TxCount, d time.Duration) passage {
	load, own, start := fw.run.trial.Loads[f.ID], fw.run.handling.rows[f.FrameSize].odd, fw.run.start.Sub(epoch)
	a := passage{rate: load.Rate, delay: load.Delay, sent: f.sent, limited: fw.dut.limited(f.Stream, own), schedule: f.schedule}
	if load.Max || a.rate.Frames <= 0 || f.sent < tx.Intended && f.schedule == nil {
		a.rate, a.delay = traffic.Rate{Frames: int64(f.sent), PerNanos: max(int64(d), 1)}, 0
	}
	if toNetworks(f.Stream) && port != "" {
		a.pieces = splitAt(fw.dut.pieces(f.Stream, port, own, start, d), f.schedule.Moments())
		for _, p := range a.pieces {
			a.windows = append(a.windows, p.window)
		}
		a.limited = len(a.pieces) != 1 || a.pieces[0] != piece{window{0, d}, 1, 1}
		return a
	}
	if a.limited {
		a.windows = fw.dut.open(f.Stream, port, own, start, d)
		a.limited = len(a.windows) != 1 || a.windows[0] != window{0, d}
	}
	return a
}

// left returns the number of frames that have left the tester at a time.
func (a *passage) left(at time.Duration) uint64 {
	return min(a.sent, mulDiv(uint64(a.rate.Frames), uint64(max(a.schedule.Served(at)-a.delay, 0)), uint64(a.rate.PerNanos)))
}

// leaves returns the time at which a frame leaves the tester.
func (a *passage) leaves(number uint64) time.Duration {
	return a.schedule.Leaves(a.delay + time.Duration(mulDivUp(number+1, uint64(a.rate.PerNanos), uint64(max(a.rate.Frames, 1)))))
}

// in returns the number of frames that come in a part of the trial.
func (a *passage) in(ph phase) uint64 {
	var n uint64
	for i, w := range a.windows {
		if from, to := max(w.from, ph.from), min(w.to, ph.to); from < to {
			n += a.part(i, to) - a.part(i, from)
		}
	}
	return n
}

// part returns the number of frames that come in window i up to a time in it.
func (a *passage) part(i int, at time.Duration) uint64 {
	frames := a.left(at) - a.left(a.windows[i].from)
	if a.pieces == nil {
		return frames
	}
	return a.pieces[i].of(frames, at)
}

// end is one above the number of the last frame that comes.
func (a *passage) end() uint64 {
	end := uint64(0)
	for i, w := range a.windows {
		if a.comes(i) {
			end = a.left(w.to)
		}
	}
	return end
}

// comes reports whether any frame comes in a window. In a piece that begins or ends with a
// rounded share of the networks none may.
func (a *passage) comes(i int) bool { return a.part(i, a.windows[i].to) > 0 }

// number returns the sequence number of the n-th frame that comes, counting from 0.
func (a *passage) number(n uint64) uint64 {
	for i, w := range a.windows {
		from, to := a.left(w.from), a.left(w.to)
		if come := a.part(i, w.to); n < come {
			return from + mulDiv(n, to-from, come)
		} else {
			n -= come
		}
	}
	return a.sent
}

// skips returns how many times numbers are left out between two windows, or before the first
// one, and the number of the frame after the last time.
func (a *passage) skips() (count, end uint64) {
	var next uint64
	for i, w := range a.windows {
		from, to := a.left(w.from), a.left(w.to)
		if !a.comes(i) {
			continue
		}
		if from > next {
			count, end = count+1, from
		}
		next = to
	}
	return count, end
}

// silence are the two frames that come between which the longest time lies: those on
// both sides of the longest break between two windows, or without a break the first
// two.
func (a *passage) silence() (before, after uint64) {
	var last uint64
	var longest time.Duration
	seen := false
	for i, w := range a.windows {
		from, to := a.left(w.from), a.left(w.to)
		if !a.comes(i) {
			continue
		}
		if pause := a.leaves(from) - a.leaves(last); seen && pause > longest {
			longest, before, after = pause, last, from
		}
		if longest == 0 && to-from > 1 {
			longest, before, after = a.leaves(from+1)-a.leaves(from), from, from+1
		}
		seen, last = true, to-1
	}
	return before, after
}

// through is the flow as the port gets it, where the device forwards it at some
// times only.
func (fw *forwarding) through(f flow, port string, m *traffic.Measurement, d time.Duration) flow {
	if !fw.dut.limited(f.Stream, fw.run.handling.rows[f.FrameSize].odd) {
		return f
	}
	if a := fw.passage(f, port, m.Tx[f.ID], d); a.limited {
		f.passage, f.steady, f.sent = &a, false, a.in(phase{0, d})
	}
	return f
}

// place gives a count its sequence numbers and its moments, where so far it counts
// only what came: the first and the last frame are as late as the lowest latency.
func (fw *forwarding) place(count *traffic.RxCount, f flow, tx traffic.TxCount, d time.Duration) {
	a, first := f.passage, uint64(0)
	if a == nil {
		all := fw.passage(f, "", tx, d)
		a = &all
	} else {
		first = a.number(0)
		skips, end := a.skips()
		if count.GapEnd > 0 {
			end = max(end, a.number(count.GapEnd))
		}
		count.Next, count.GapEnd = a.end(), end
		count.OutOfSequence = min(count.Received, count.OutOfSequence+skips)
	}
	start := fw.run.start.Sub(epoch)
	count.FirstNs = uint64(start+a.leaves(first)) + count.Latency.MinNs
	count.LastNs = uint64(start+a.leaves(count.Next-1)) + count.Latency.MinNs
	if count.Received < 2 {
		return
	}
	before, after := uint64(0), uint64(1)
	if f.passage != nil {
		before, after = a.silence()
	}
	count.SilentFromNs = uint64(start+a.leaves(before)) + count.Latency.MinNs
	count.SilentToNs = uint64(start+a.leaves(after)) + count.Latency.MinNs
}
