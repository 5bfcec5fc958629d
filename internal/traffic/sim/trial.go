package sim

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// sendingTime returns the time for which the trial sends unless it is stopped: its duration,
// or the time that its exact numbers of frames take.
func (e *Engine) sendingTime() time.Duration {
	if e.trial.Duration > 0 {
		return e.trial.Duration
	}
	var longest uint64
	perPort := map[string]uint64{}
	for _, s := range e.streams {
		load := e.trial.Loads[s.ID]
		perPort[s.TxPort] += load.Frames
		if load.Frames > 0 && !load.Max {
			longest = max(longest, uint64(load.Delay)+mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)))
		}
	}
	for name, frames := range perPort {
		sender := e.sender(name)
		limit := sender.rate(name, sender.row.generatorPPM)
		if limit.Frames > 0 && frames > 0 {
			longest = max(longest, mulDivUp(frames, uint64(limit.PerNanos), uint64(limit.Frames)))
		}
	}
	return time.Duration(min(longest, math.MaxInt64))
}

// rate is the frame rate of a port at a share of line rate; 0 frames at 0 ppm.
func (e *Engine) rate(port string, ppm int64) traffic.Rate {
	if ppm <= 0 {
		return traffic.Rate{PerNanos: 1}
	}
	share := new(big.Rat).Mul(big.NewRat(e.ports[port].BitsPerSecond, whole), big.NewRat(ppm, 1))
	r, err := traffic.RateOf(share.Quo(share, e.row.wireBits()))
	if err != nil {
		return nearest(share)
	}
	return r
}

// frames returns the number of frames that a rate makes in a time.
func frames(r traffic.Rate, d time.Duration) uint64 {
	return mulDiv(uint64(r.Frames), uint64(max(d, 0)), uint64(r.PerNanos))
}

// measure computes the trial: what every stream sends, what the device's egress
// ports drop, and how late the rest arrives.
func (e *Engine) measure() traffic.Measurement {
	d := e.length
	if e.stopped.IsZero() { // Read while sending: as far as it is.
		d = min(d, e.clock.Now().Sub(e.start))
	}
	return e.measureFor(d)
}

// measureFor computes the first d of the trial.
func (e *Engine) measureFor(d time.Duration) traffic.Measurement {
	m := traffic.Measurement{Tx: make(map[uint16]traffic.TxCount, len(e.streams)), TxTime: d}
	flows := e.send(&m, d)
	e.holdBack(&m, d)
	reach := e.reached(&m, d)
	byRx, received := make([][]flow, len(e.order)), 0
	for _, f := range flows {
		for _, port := range f.RxPorts {
			i := e.index[port]
			byRx[i] = append(byRx[i], e.through(f.thinned(reach.of(&m, f.Stream, port)), port, &m, d))
		}
		received += len(f.RxPorts)
	}
	m.Rx = make(map[traffic.RxKey]traffic.RxCount, received)
	shapes := shapes{}
	for i, port := range e.order {
		if flows := byRx[i]; flows != nil {
			at := e.mixed(flows)
			at.forward(&m, port, flows, at.capacity(), d, shapes)
		}
	}
	for _, size := range slices.Sorted(maps.Keys(e.rows)) {
		if between := e.rows[size].between; between != "" {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteModel,
				Text: fmt.Sprintf("%d B is not in the device model: its behavior was interpolated between %s", size, between)})
		}
	}
	return m
}

// capacity of the device's ports in this trial, in parts per million of line rate.
func (e *Engine) capacity() int64 {
	n := e.row.noisePPM
	if n == 0 {
		return e.row.capacityPPM
	}
	rng := rand.New(rand.NewPCG(e.seed, e.number))
	return min(max(e.row.capacityPPM+rng.Int64N(2*n+1)-n, 0), whole)
}

// send fills in what every stream was to send and what the tester could, and
// returns what that makes of each.
func (e *Engine) send(m *traffic.Measurement, d time.Duration) []flow {
	intended, loads, tx := make([]uint64, len(e.streams)), make([]traffic.Load, len(e.streams)), make([]int, len(e.streams))
	perPort := make([]uint64, len(e.order))
	// Without a duration, sending lasts exactly as long as the frames take, unless
	// it was stopped before.
	complete := e.trial.Duration <= 0 && d >= e.sendingTime()
	for i := range e.streams {
		s := &e.streams[i]
		load, ok := e.trial.Loads[s.ID]
		if !ok {
			tx[i] = -1
			continue
		}
		n := frames(load.Rate, d-load.Delay)
		if load.Max {
			// Every stream asks for the whole line; what the tester can do is divided.
			n = frames(e.of(s.FrameSize).rate(s.TxPort, whole), d-load.Delay)
		}
		if load.Frames > 0 && (n > load.Frames || complete) {
			n = load.Frames
		}
		intended[i], loads[i], tx[i] = n, load, e.index[s.TxPort]
		perPort[tx[i]] += n
	}
	limits := make([]uint64, len(e.order))
	for i, name := range e.order {
		limits[i] = math.MaxUint64
		if perPort[i] > 0 && !complete {
			sender := e.sender(name)
			limits[i] = frames(sender.rate(name, sender.row.generatorPPM), d)
		}
	}
	flows, begun := make([]flow, len(e.streams)), latest(e.trial.Loads)
	for i := range flows {
		s, load, sent := &e.streams[i], loads[i], intended[i]
		flows[i] = flow{Stream: s, lasts: e.lasts(load, d, begun)}
		if tx[i] < 0 {
			continue
		}
		if total, limit := perPort[tx[i]], limits[tx[i]]; total > limit {
			sent = mulDiv(sent, limit, total)
		}
		count := traffic.TxCount{Intended: intended[i], Sent: sent, Duration: max(0, d-load.Delay)}
		if load.Max {
			count.Intended = sent // As fast as it can is never less than intended.
		}
		m.Tx[s.ID] = count
		flows[i].sent, flows[i].from = sent, load.Delay
		flows[i].steadily(load, d)
	}
	return flows
}

// mulDiv is a*b/c rounded down, without overflow in between; the largest number
// when the quotient does not fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// mulDivUp is a*b/c rounded up.
func mulDivUp(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	q, rest := bits.Div64(hi, lo, c)
	if rest > 0 {
		q++
	}
	return q
}
