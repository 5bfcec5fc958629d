package sim

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// sendingTime is how long the trial sends when nobody stops it: its duration, or
// as long as its exact numbers of frames take.
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
			longest = max(longest, mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)))
		}
	}
	for name, frames := range perPort {
		limit := e.rate(name, e.row.generatorPPM)
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
	r, err := frame.Schedule(frame.Rate(e.ports[port].BitsPerSecond, e.row.size, ppm))
	if err != nil {
		return traffic.Rate{PerNanos: 1}
	}
	return r
}

// frames is how many frames a rate makes in a time.
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
	m := traffic.Measurement{
		Tx: make(map[uint16]traffic.TxCount, len(e.streams)), Rx: make(map[traffic.RxKey]traffic.RxCount, len(e.streams)),
		TxTime: d,
	}
	e.send(&m, d)
	e.holdBack(&m, d)
	byRx := map[string][]*traffic.Stream{}
	for i := range e.streams {
		for _, port := range e.streams[i].RxPorts {
			byRx[port] = append(byRx[port], &e.streams[i])
		}
	}
	capacity := e.capacity()
	shapes, reach := shapes{}, e.reached(&m, d)
	for _, port := range e.order {
		if streams := byRx[port]; streams != nil {
			e.forward(&m, port, streams, capacity, d, shapes, reach)
		}
	}
	if e.row.between != "" {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteModel,
			Text: fmt.Sprintf("%d B is not in the device model: its behaviour was interpolated between %s", e.row.size, e.row.between)})
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

// send fills in what every stream was to send and what the tester could.
func (e *Engine) send(m *traffic.Measurement, d time.Duration) {
	intended := make([]uint64, len(e.streams))
	perPort := map[string]uint64{}
	// Without a duration, sending lasts exactly as long as the frames take, unless
	// it was stopped before.
	complete := e.trial.Duration <= 0 && d >= e.sendingTime()
	for i, s := range e.streams {
		load, ok := e.trial.Loads[s.ID]
		if !ok {
			continue
		}
		n := frames(load.Rate, d)
		if load.Max {
			// Every stream asks for the whole line; what the tester can do is divided.
			n = frames(e.rate(s.TxPort, whole), d)
		}
		if load.Frames > 0 && (n > load.Frames || complete) {
			n = load.Frames
		}
		intended[i] = n
		perPort[s.TxPort] += n
	}
	limits := map[string]uint64{}
	for name := range perPort {
		limits[name] = frames(e.rate(name, e.row.generatorPPM), d)
		if complete {
			limits[name] = math.MaxUint64
		}
	}
	for i, s := range e.streams {
		if _, ok := e.trial.Loads[s.ID]; !ok {
			continue
		}
		sent := intended[i]
		if total, limit := perPort[s.TxPort], limits[s.TxPort]; total > limit {
			sent = mulDiv(sent, limit, total)
		}
		count := traffic.TxCount{Intended: intended[i], Sent: sent, Duration: d}
		if e.trial.Loads[s.ID].Max {
			count.Intended = sent // As fast as it can is never less than intended.
		}
		m.Tx[s.ID] = count
	}
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
