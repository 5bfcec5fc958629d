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
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// trialRun is the trial in hand: what the tester sends, and when.
type trialRun struct {
	tester  *tester
	streams []traffic.Stream
	// handling of the frames of all streams, if these have one size.
	handling handling

	trial   *traffic.Trial
	start   time.Time
	length  time.Duration
	stopped time.Time
	// faulty describes what the tester does wrong; nil for a perfect one. faults contains what it
	// does wrong in the trial.
	faulty *fault.Tester
	faults testerFaults
}

// elapsed returns the time for which the trial has been sending until now.
func (r *trialRun) elapsed(now time.Time) time.Duration {
	if r.stopped.IsZero() { // Read while sending: as far as it is.
		return min(r.length, now.Sub(r.start))
	}
	return r.length
}

// sendingTime returns the time for which the trial sends unless it is stopped: its duration,
// or the time that its exact numbers of frames take.
func (r *trialRun) sendingTime() time.Duration {
	if r.trial.Duration > 0 {
		return r.trial.Duration
	}
	var longest uint64
	perPort := map[string]uint64{}
	for _, s := range r.streams {
		load := r.trial.Loads[s.ID]
		perPort[s.TxPort] += load.Frames
		if load.Frames > 0 && !load.Max {
			longest = max(longest, uint64(load.Delay)+mulDivUp(load.Frames, uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)))
		}
	}
	for name, frames := range perPort {
		sender := r.sender(name)
		limit := sender.rate(name, sender.row.generatorPPM)
		if limit.Frames > 0 && frames > 0 {
			longest = max(longest, mulDivUp(frames, uint64(limit.PerNanos), uint64(limit.Frames)))
		}
	}
	return time.Duration(min(longest, math.MaxInt64))
}

// rateAt identifies a frame rate: of frames of one size at a share of the line rate of a port.
type rateAt struct {
	port string
	ppm  int64
	size int
}

// rate is the frame rate of a port at a share of line rate; 0 frames at 0 ppm. The rates of
// frames of one size are computed once.
func (h *handling) rate(port string, ppm int64) traffic.Rate {
	if ppm <= 0 {
		return traffic.Rate{PerNanos: 1}
	}
	at := rateAt{port, ppm, h.row.size}
	if r, known := h.known[at]; known && h.row.wire == nil {
		return r
	}
	share := new(big.Rat).Mul(big.NewRat(h.tester.ports[port].BitsPerSecond, whole), big.NewRat(ppm, 1))
	r, err := traffic.RateOf(share.Quo(share, h.row.wireBits()))
	if err != nil {
		r = nearest(share)
	}
	if h.row.wire == nil && len(h.known) < maxKnownRates {
		h.known[at] = r
	}
	return r
}

// maxKnownRates bounds the rates that an engine keeps.
const maxKnownRates = 10_000

// frames returns the number of frames that a rate makes in a time.
func frames(r traffic.Rate, d time.Duration) uint64 {
	return mulDiv(uint64(r.Frames), uint64(max(d, 0)), uint64(r.PerNanos))
}

// forwarding computes what a trial counts: what comes to the receivers of that which the tester
// sends.
type forwarding struct {
	run *trialRun
	dut *dut
	// crowded is the port at which connections were next to the frames of the trial.
	crowded crowded
}

// measureFor computes the first d of the trial: what every stream sends, what the device's
// egress ports drop, and how late the rest arrives.
func (fw *forwarding) measureFor(d time.Duration) traffic.Measurement {
	m := traffic.Measurement{Tx: make(map[uint16]traffic.TxCount, len(fw.run.streams))}
	flows := fw.run.send(&m, d)
	fw.run.report(&m, d)
	fw.holdBack(&m, d)
	reach := fw.reached(&m, d)
	fw.unsent(&m, reach, d)
	byRx, received := make([][]flow, len(fw.run.tester.order)), 0
	for _, f := range flows {
		for _, port := range f.RxPorts {
			i := fw.run.tester.index[port]
			byRx[i] = append(byRx[i], fw.through(f.thinned(reach.of(&m, f.Stream, port)), port, &m, d))
		}
		received += len(f.RxPorts)
	}
	m.Rx = make(map[traffic.RxKey]traffic.RxCount, received)
	shapes := shapes{}
	for i, port := range fw.run.tester.order {
		if flows := byRx[i]; flows != nil {
			fw.forward(&m, port, fw.run.handling.mixed(flows, fw.run.trial.Loads), flows, d, shapes)
		}
	}
	for _, size := range slices.Sorted(maps.Keys(fw.run.handling.rows)) {
		if between := fw.run.handling.rows[size].between; between != "" {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteModel,
				Text: fmt.Sprintf("%d B is not in the device model: its behavior was interpolated between %s", size, between)})
		}
	}
	return m
}

// capacity of the device's ports in this trial, in parts per million of line rate.
func (h *handling) capacity() int64 {
	n := h.row.noisePPM
	if n == 0 {
		return h.row.capacityPPM
	}
	rng := rand.New(rand.NewPCG(h.seed, h.number))
	return min(max(h.row.capacityPPM+rng.Int64N(2*n+1)-n, 0), whole)
}

// send fills in what every stream was to send and what the tester could, and
// returns what that makes of each.
func (r *trialRun) send(m *traffic.Measurement, d time.Duration) []flow {
	intended, loads, tx := make([]uint64, len(r.streams)), make([]traffic.Load, len(r.streams)), make([]int, len(r.streams))
	perPort := make([]uint64, len(r.tester.order))
	// Without a duration, sending lasts exactly as long as the frames take, unless
	// it was stopped before.
	complete := r.trial.Duration <= 0 && d >= r.sendingTime()
	for i := range r.streams {
		s := &r.streams[i]
		load, ok := r.trial.Loads[s.ID]
		if !ok {
			tx[i] = -1
			continue
		}
		n := frames(load.Rate, d-load.Delay)
		if asked := r.faults.asked.Loads[s.ID]; asked.Rate != load.Rate && d == r.faults.length {
			n = frames(asked.Rate, r.faults.asked.Duration-asked.Delay)
		}
		if load.Max {
			// Every stream asks for the whole line; what the tester can do is divided.
			n = frames(r.handling.of(s.FrameSize).rate(s.TxPort, whole), d-load.Delay)
		}
		if load.Frames > 0 && (n > load.Frames || complete) {
			n = load.Frames
		}
		intended[i], loads[i], tx[i] = n, load, r.tester.index[s.TxPort]
		perPort[tx[i]] += n
	}
	limits := make([]uint64, len(r.tester.order))
	for i, name := range r.tester.order {
		limits[i] = math.MaxUint64
		if perPort[i] > 0 && !complete {
			sender := r.sender(name)
			limits[i] = frames(sender.rate(name, sender.row.generatorPPM), d)
		}
	}
	flows, begun := make([]flow, len(r.streams)), latest(r.trial.Loads)
	for i := range flows {
		s, load, sent := &r.streams[i], loads[i], intended[i]
		flows[i] = flow{Stream: s, lasts: r.lasts(load, d, begun)}
		if tx[i] < 0 {
			continue
		}
		if total, limit := perPort[tx[i]], limits[tx[i]]; total > limit {
			sent = mulDiv(sent, limit, total)
		}
		sent = r.sentOf(s, load, sent, d)
		count := traffic.TxCount{Intended: intended[i], Sent: sent, Duration: max(0, d-load.Delay)}
		if load.Max {
			count.Intended = sent // As fast as it can is never less than intended.
		}
		m.Tx[s.ID] = count
		flows[i].sent, flows[i].from = sent, load.Delay
		flows[i].schedule, flows[i].rate, flows[i].all = r.faults.schedules[s.TxPort], load.Rate, sent
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
