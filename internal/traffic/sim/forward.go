package sim

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// phase is a part of a trial in which the same streams send.
type phase struct{ from, to time.Duration }

// phases of a trial of d: one ends whenever a stream has sent its frames.
func (e *Engine) phases(streams []*traffic.Stream, d time.Duration) []phase {
	ends := []time.Duration{d}
	for _, s := range streams {
		ends = append(ends, e.sendsFor(s, d))
	}
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

// sendsFor is how long a stream sends in a trial of d.
func (e *Engine) sendsFor(s *traffic.Stream, d time.Duration) time.Duration {
	load := e.trial.Loads[s.ID]
	if load.Max || load.Frames == 0 || load.Rate.Frames <= 0 || e.trial.Duration <= 0 {
		return d
	}
	return time.Duration(min(mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)), uint64(d)))
}

// passed is what of a stream got through the device.
type passed struct {
	sent, received uint64
	// gapEnd is the number of the frame after the last that was lost.
	gapEnd uint64
}

// egress is a port of the device that frames leave by.
type egress struct {
	e           *Engine
	port        string
	capacityPPM int64
	// queue is what waits in the buffer.
	queue uint64
	// lost of arrived frames in the phase before.
	lost, arrived uint64
}

// limit is how many frames the port sends in a phase in which so many arrive: up
// to its capacity, and less when the device suffers from overload.
func (p *egress) limit(ph phase, arrived uint64) uint64 {
	at := func(ppm int64) uint64 {
		r := p.e.rate(p.port, ppm)
		return frames(r, ph.to) - frames(r, ph.from)
	}
	limit := at(p.capacityPPM)
	if p.e.row.overloadPPM == 0 || arrived <= limit {
		return limit
	}
	line, overloaded := at(whole), min(at(p.e.row.overloadPPM), limit)
	if line <= limit {
		return limit
	}
	return limit - mulDiv(limit-overloaded, min(arrived, line)-limit, line-limit)
}

// pass lets a phase through: n has the frames of each stream in it, counts is
// what the streams have got through so far.
func (p *egress) pass(ph phase, n []uint64, counts []passed) {
	var arrived uint64
	for _, k := range n {
		arrived += k
	}
	limit := p.limit(ph, arrived)
	room := limit + p.e.row.buffer - p.queue
	left := min(arrived, room)
	dropping := arrived > left
	p.queue = p.queue + left - min(limit, p.queue+left)
	// After an overload the device goes on dropping for a while.
	var window time.Duration
	if p.lost > 0 && !dropping {
		window = min(p.e.row.recovery, ph.to-ph.from)
	}
	after, share := mulDiv(arrived, uint64(window), uint64(ph.to-ph.from)), p.lost
	if window > 0 && p.arrived > 0 {
		left -= mulDiv(after, share, p.arrived)
	}
	var seen uint64
	for i, k := range n {
		if k == 0 {
			continue
		}
		// The streams share what the port forwards, to the frame: differences of a
		// running quotient add up to exactly what is left.
		before := mulDiv(seen, left, arrived)
		seen += k
		got := mulDiv(seen, left, arrived) - before
		c := &counts[i]
		if got < k {
			c.gapEnd = c.sent + k
			if window > 0 {
				c.gapEnd = c.sent + mulDiv(k, uint64(window), uint64(ph.to-ph.from))
			}
		}
		c.sent, c.received = c.sent+k, c.received+got
	}
	p.lost, p.arrived = arrived-left, arrived
}

// forward is one egress port of the device: beyond its capacity it drops, and the
// nearer the load is to it, the longer frames wait.
func (e *Engine) forward(m *traffic.Measurement, port string, streams []*traffic.Stream, capacityPPM int64, d time.Duration, known shapes) {
	out := &egress{e: e, port: port, capacityPPM: capacityPPM}
	counts := make([]passed, len(streams))
	coming := make([]arrivals, len(streams))
	for i, s := range streams {
		coming[i] = e.arrivals(s, port, m.Tx[s.ID], d)
	}
	for _, ph := range split(e.phases(streams, d), coming) {
		n := make([]uint64, len(streams))
		for i, s := range streams {
			if coming[i].limited {
				n[i] = coming[i].in(ph)
				continue
			}
			sent, lasts := m.Tx[s.ID].Sent, e.sendsFor(s, d)
			upTo := func(t time.Duration) uint64 { return mulDiv(sent, uint64(min(t, lasts)), uint64(lasts)) }
			n[i] = upTo(ph.to) - upTo(ph.from)
		}
		out.pass(ph, n, counts)
	}
	var arrived uint64
	for i := range counts {
		arrived += counts[i].sent
	}
	capacity := frames(e.rate(port, capacityPPM), d)
	for i, s := range streams {
		c := counts[i]
		reaches := func(onsetPPM int64) bool { return arrived >= frames(e.rate(port, onsetPPM), d) }
		if e.row.lossPPM > 0 && reaches(e.row.lossOnsetPPM) {
			if n := min(c.received, mulDiv(c.sent, uint64(e.row.lossPPM), uint64(whole))); n > 0 {
				c.received, c.gapEnd = c.received-n, c.sent
			}
		}
		if c.received == 0 {
			continue
		}
		count := traffic.RxCount{
			Received:  c.received,
			Duplicate: mulDiv(c.received, uint64(e.row.duplicatePPM), uint64(whole)),
			Latency:   known.latency(e.row.shape(c.received, arrived, capacity)),
			// The last frame arrives, so that a loss is always before it.
			Next: c.sent, GapEnd: min(c.gapEnd, c.sent-1),
		}
		if e.row.reorderedPPM > 0 && reaches(e.row.reorderOnsetPPM) {
			count.Reordered = mulDiv(c.received, uint64(e.row.reorderedPPM), uint64(whole))
		}
		count.OutOfSequence = min(c.received, 3*count.Reordered+(c.sent-c.received))
		e.place(&count, &coming[i])
		m.Rx[traffic.RxKey{Stream: s.ID, Port: port}] = count
	}
}
