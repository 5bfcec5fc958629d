package sim

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// passed is the number of frames of a stream that were sent, and that got through the device.
type passed struct {
	sent, received uint64
	// gapEnd is the number of the frame after the last that was lost.
	gapEnd uint64
}

// egress is a port of the device that frames leave by.
type egress struct {
	handling    *handling
	port        string
	capacityPPM int64
	// queue is the number of frames in the buffer.
	queue uint64
	// short is the number of frames by which the streams send less than their rates in a
	// trial of length, as each sends whole frames only.
	short  uint64
	length time.Duration
	// lost of arrived frames in the last phase of overload. Until then the device goes
	// on losing as many.
	lost, arrived uint64
	until         time.Duration
}

// limit returns the number of frames that the port sends in a phase in which arrived frames
// arrive: up to its capacity, and less if the device suffers from overload.
func (p *egress) limit(ph phase, arrived uint64) uint64 {
	at := func(ppm int64) uint64 {
		r := p.handling.rate(p.port, ppm)
		return frames(r, ph.to) - frames(r, ph.from)
	}
	limit := at(p.capacityPPM)
	if p.handling.row.overloadPPM == 0 || arrived <= limit {
		return limit
	}
	line, overloaded := at(whole), min(at(p.handling.row.overloadPPM), limit)
	if line <= limit {
		return limit
	}
	return limit - mulDiv(limit-overloaded, min(arrived, line)-limit, line-limit)
}

// pass lets a phase through: n has the frames of each stream in it, and counts has the frames
// that each stream has got through so far.
func (p *egress) pass(ph phase, n []uint64, counts []passed) {
	var arrived uint64
	for _, k := range n {
		arrived += k
	}
	limit := p.limit(ph, arrived)
	room := limit + p.handling.row.buffer - p.queue
	left := arrived - min(arrived, p.excess(ph, arrived, room))
	dropping := arrived > left
	p.queue = p.queue + left - min(limit, p.queue+left)
	// After an overload the device goes on dropping for a while.
	var window time.Duration
	if p.until > ph.from && !dropping {
		window = min(p.until, ph.to) - ph.from
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
	if dropping {
		p.lost, p.arrived, p.until = arrived-left, arrived, ph.to+p.handling.row.recovery
	}
}

// excess returns how many of the frames that arrive in a phase find no room. The rates of the
// streams amount to slightly more frames than arrive, and that higher number is compared with
// the room: otherwise a port with hundreds of streams would take a load just above its
// capacity.
func (p *egress) excess(ph phase, arrived, room uint64) uint64 {
	short := mulDiv(p.short, uint64(ph.to), uint64(p.length)) - mulDiv(p.short, uint64(ph.from), uint64(p.length))
	over := arrived + short - min(arrived+short, room)
	missing := min(over, short)
	return max(over-missing, missing)
}

// through returns the frames of the streams that get through the port in a trial of d. Usually
// all do, so this is checked before the phases are computed.
func (p *egress) through(flows []flow, d time.Duration) []passed {
	counts := make([]passed, len(flows))
	most, short := arrivals(flows, func(f flow) uint64 { return f.over(d, f.lasts) })
	late := slices.ContainsFunc(flows, func(f flow) bool { return f.schedule != nil })
	if !late && most+short <= frames(p.handling.rate(p.port, p.capacityPPM), d) {
		for i, f := range flows {
			counts[i] = passed{sent: f.sent, received: f.sent}
		}
		return counts
	}
	p.short, p.length = short, d
	n, before := make([]uint64, len(flows)), make([]uint64, len(flows))
	for _, ph := range phases(flows, d) {
		for i, f := range flows {
			upTo := f.upTo(ph.to)
			n[i], before[i] = upTo-before[i], upTo
		}
		p.pass(ph, n, counts)
	}
	return counts
}

// drain returns how long the port takes to send the frames that are in its buffer when the last
// ones have arrived.
func (p *egress) drain() time.Duration {
	if p.queue == 0 || p.capacityPPM == 0 {
		return 0
	}
	r := p.handling.rate(p.port, p.capacityPPM)
	return time.Duration(mulDiv(p.queue, uint64(r.PerNanos), uint64(r.Frames)))
}

// forward is one egress port of the device, which handles the mix of its flows: beyond its
// capacity it drops, and the nearer the load is to it, the longer frames wait.
func (fw *forwarding) forward(m *traffic.Measurement, port string, h *handling, flows []flow, d time.Duration, known shapes) {
	capacityPPM := h.capacity()
	out := &egress{handling: h, port: port, capacityPPM: capacityPPM}
	counts := out.through(flows, d)
	drain := uint64(out.drain())
	arrived, short := arrivals(flows, func(f flow) uint64 {
		if f.passage != nil {
			return f.sent
		}
		return f.over(d, d-f.from)
	})
	arrived += short
	at := func(ppm int64) uint64 { return frames(h.rate(port, ppm), d) }
	load := portLoad{arrived: arrived, capacity: at(capacityPPM), at: at}
	// How the frames of a size fare, and the latency of the stream before.
	type fate struct {
		shape                       shape
		latency                     traffic.Latency
		losing, reordering, marking bool
	}
	fates := map[int]*fate{}
	for i, s := range flows {
		c, own := counts[i], h.rows[s.FrameSize]
		size := fates[s.FrameSize]
		if size == nil {
			size = &fate{
				losing:     own.lossPPM > 0 && arrived >= at(own.lossOnsetPPM),
				reordering: own.reorderedPPM > 0 && arrived >= at(own.reorderOnsetPPM),
				marking:    own.markedPPM > 0 && arrived >= at(own.markOnsetPPM),
			}
			var said string
			size.shape, said = h.of(s.FrameSize).shape(load)
			size.shape = fw.crowded.hold(port, size.shape.later(fw.dut.searched()))
			remark(m, said)
			fates[s.FrameSize] = size
		}
		if size.losing {
			if n := min(c.received, mulDiv(c.sent, uint64(own.lossPPM), uint64(whole))); n > 0 {
				c.received, c.gapEnd = c.received-n, c.sent
			}
		}
		if n := fw.dut.filtered(c.received); n > 0 {
			c.received, c.gapEnd = c.received-n, c.sent
		}
		fw.crowded.drop(port, &c)
		own.odd.damage(&c, m, port)
		fw.receive(&c, s.Stream, port, m, d)
		if c.received == 0 {
			continue
		}
		if size.shape.count != c.received { // Most streams are alike.
			size.shape.count = c.received
			size.latency = known.latency(size.shape)
		}
		wrong, last := fw.mistimed(port, m, d)
		count := traffic.RxCount{
			Received:  c.received,
			Duplicate: mulDiv(c.received, uint64(own.duplicatePPM), uint64(whole)),
			Latency:   mistime(own.odd.late(size.latency, own.odd.delayed(c.received)), wrong, last),
			// The last frame arrives, so that a loss is always before it.
			Next: c.sent, GapEnd: min(c.gapEnd, c.sent-1),
		}
		if size.marking && s.Headers.ECNCapable() {
			count.Congested = mulDiv(c.received, uint64(own.markedPPM), uint64(whole))
		}
		if c := s.Headers.RoCE.CNP; c.Answers && count.Congested > 0 {
			count.Notified = answersTo(count.Congested, c.Interval, d)
			traffic.Put(&m.Notifications, s.TxPort, m.Notifications[s.TxPort]+count.Notified)
		}
		if size.reordering {
			count.Reordered = mulDiv(c.received, uint64(own.reorderedPPM), uint64(whole))
		}
		swapped, delayed := count.Reordered, own.odd.delayed(c.received)
		count.Reordered += delayed
		overtaken := fw.reordered(c, s.Stream, port, m, d)
		count.Reordered, swapped = count.Reordered+overtaken, swapped+overtaken
		if count.Reordered > 0 {
			count.Order = own.order(c.received, swapped, delayed, fw.passage(s, port, m.Tx[s.ID], d).rate)
		}
		count.OutOfSequence = min(c.received, 3*count.Reordered+(c.sent-c.received))
		fw.place(&count, s, m.Tx[s.ID], d)
		count.LastNs += drain
		m.Rx[traffic.RxKey{Stream: s.ID, Port: port}] = count
	}
}
