package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// microflowsPerPart is the number of records that are computed at once.
const microflowsPerPart = 65536

// microflows computes what a port receives of each microflow of a stream: the frames that leave
// the tester while the device forwards them there. Of these the device loses as many as the
// model says, spread evenly.
type microflows struct {
	n       uint64
	passage passage
	// windows returns when the device forwards a microflow, within the trial.
	windows func(number uint64) []window
	// come is the number of frames that come to the device's port, and lost is how many of
	// them the device loses.
	come, lost uint64
	// start of the trial and the latency of a frame, in nanoseconds.
	start, latency uint64
}

// Microflows implements traffic.MicroflowCounter.
func (e *Engine) Microflows(ctx context.Context, key traffic.RxKey, take func(traffic.MicroflowPart) error) error {
	m, err := e.Read(ctx)
	if err != nil {
		return err
	}
	for i := range e.run.streams {
		if s := &e.run.streams[i]; s.ID == key.Stream && s.Track != traffic.TrackNone && slices.Contains(s.RxPorts, key.Port) {
			return e.forwarding.microflows(s, key.Port, &m).each(s.Track == traffic.TrackTimes, take)
		}
	}
	return fmt.Errorf("reading the microflows of stream %d at port %s: they are not tracked there", key.Stream, key.Port)
}

// SumMicroflows implements traffic.MicroflowCounter.
func (e *Engine) SumMicroflows(ctx context.Context, sent map[uint16]traffic.TxCount, most int) ([]traffic.MicroflowSum, error) {
	m, err := e.Read(ctx)
	if err != nil {
		return nil, err
	}
	var all []traffic.MicroflowSum
	for i := range e.run.streams {
		s := &e.run.streams[i]
		if s.Track == traffic.TrackNone {
			continue
		}
		for _, port := range s.RxPorts {
			sum := traffic.MicroflowSum{RxKey: traffic.RxKey{Stream: s.ID, Port: port}}
			of := e.forwarding.microflows(s, port, &m)
			err := of.each(false, func(p traffic.MicroflowPart) error {
				sum.Add(sent[s.ID].Places(), of.n, p.First, p.Records, most)
				return ctx.Err()
			})
			if err != nil {
				return nil, err
			}
			all = append(all, sum)
		}
	}
	return traffic.JoinMicroflowSums(most, all), nil
}

// checkMicroflows refuses streams with more microflows than a port counts.
func checkMicroflows(streams []traffic.Stream) error {
	perPort := map[string]uint64{}
	for _, s := range streams {
		if s.Track == traffic.TrackNone {
			continue
		}
		for _, port := range s.RxPorts {
			n := s.Headers.Microflows()
			if perPort[port] += min(n, traffic.MaxMicroflows+1); perPort[port] > traffic.MaxMicroflows {
				return fmt.Errorf("stream %d has %s microflows, with which port %s would count more than %s: choose smaller ranges, or sizes with common factors",
					s.ID, traffic.Grouped(n), port, traffic.Grouped(traffic.MaxMicroflows))
			}
		}
	}
	return nil
}

// microflows of a stream at a port, which counted m.
func (fw *forwarding) microflows(s *traffic.Stream, port string, m *traffic.Measurement) *microflows {
	d, tx, rx := m.TxTime, m.Tx[s.ID], m.Rx[traffic.RxKey{Stream: s.ID, Port: port}]
	of := &microflows{
		n: s.Headers.Microflows(), passage: fw.passage(flow{Stream: s, sent: tx.Sent}, port, tx, d),
		start: uint64(fw.run.start.Sub(epoch)), latency: rx.Latency.MinNs,
	}
	whole := []window{{0, max(d, of.passage.leaves(tx.Sent))}}
	switch {
	case toNetworks(s):
		of.windows = fw.networkWindows(s, port, d)
	case of.passage.limited:
		of.windows = func(uint64) []window { return of.passage.windows }
	default:
		of.windows = func(uint64) []window { return whole }
	}
	for number := range of.n {
		n, _, _ := of.comes(number)
		of.come += n
	}
	come := of.come
	if toNetworks(s) && fw.dut.rib.fib.delay > 0 {
		// While routes get their delays, what comes of all networks together is not exact.
		come = of.passage.in(phase{0, d})
	}
	if come > 0 {
		of.lost = mulDiv(of.come, come-min(rx.Received, come), come)
	}
	return of
}

// comes returns how many frames of a microflow come, and the places of the first and the last.
func (of *microflows) comes(number uint64) (frames, first, last uint64) {
	below := func(places uint64) uint64 { return (places + of.n - 1 - number) / of.n }
	for _, w := range of.windows(number) {
		from, to := below(of.passage.left(w.from)), below(of.passage.left(w.to))
		if from >= to {
			continue
		}
		if frames == 0 {
			first = from*of.n + number
		}
		frames, last = frames+to-from, (to-1)*of.n+number
	}
	return frames, first, last
}

// each calls take with the records of all microflows.
func (of *microflows) each(times bool, take func(traffic.MicroflowPart) error) error {
	var before uint64
	for at := uint64(0); at < of.n; at += microflowsPerPart {
		part := traffic.MicroflowPart{First: at, Records: make([]traffic.MicroflowRecord, min(microflowsPerPart, of.n-at))}
		if times {
			part.FirstNs = make([]uint64, len(part.Records))
		}
		for i := range part.Records {
			n, first, last := of.comes(at + uint64(i))
			if n == 0 {
				continue
			}
			received := n - (mulDiv(before+n, of.lost, of.come) - mulDiv(before, of.lost, of.come))
			if before += n; received == 0 {
				continue
			}
			part.Records[i] = traffic.MicroflowRecord{Received: uint32(received), Last: uint32(min(last+1, 1<<32-1))}
			if times {
				part.FirstNs[i] = of.start + uint64(of.passage.leaves(first)) + of.latency
			}
		}
		if err := take(part); err != nil {
			return err
		}
	}
	return nil
}

// networkWindows returns when the device forwards the microflows of a stream to networks to a
// port, in a trial of d: each by the change of its own network.
func (fw *forwarding) networkWindows(s *traffic.Stream, port string, d time.Duration) func(number uint64) []window {
	networks, start := networksTo(s), fw.run.start.Sub(epoch)
	// held is a range of the stream's networks, of which the first is prefix at of the block.
	type held struct {
		block        *block
		from, to, at uint32
	}
	var ranges []held
	for _, b := range fw.dut.rib.blocks {
		if lo, hi, ok := overlap(b.Routes, networks); ok && !b.unforwarded {
			from, _ := networks.Index(b.Prefix(lo))
			ranges = append(ranges, held{b, from, from + hi - lo, lo})
		}
	}
	slices.SortFunc(ranges, func(a, b held) int { return int(a.from) - int(b.from) })
	closed := append(fw.run.handling.rows[s.FrameSize].odd.stalls(window{start, start + d}), fw.dut.resets...)
	return func(number uint64) []window {
		network := uint32(number % uint64(networks.Count))
		i, _ := slices.BinarySearchFunc(ranges, network, func(h held, network uint32) int {
			if h.to <= network {
				return -1
			}
			return 1
		})
		if i == len(ranges) || ranges[i].from > network {
			return nil
		}
		h := ranges[i]
		at := h.at + network - h.from
		return h.block.windowsTo(port, at, fw.dut.rib.fib.fateOf(h.block.Prefix(at)), window{start, start + d}, closed)
	}
}

// windowsTo returns when frames to a prefix of the block are forwarded to a port, from the
// beginning of a trial on, without the times in which the device forwards nothing.
func (b *block) windowsTo(port string, prefix uint32, fate fate, trial window, closed []window) []window {
	var open []window
	for i, c := range b.changes {
		if c.to == nil || !fate.reaches(port, c.to.session.Port) {
			continue
		}
		w := window{max(trial.from, c.of(prefix)+fate.delay), trial.to}
		if i+1 < len(b.changes) {
			w.to = min(w.to, b.changes[i+1].of(prefix))
		}
		rest := []window{w}
		for _, r := range closed {
			var left []window
			for _, w := range rest {
				left = append(left, window{w.from, min(w.to, r.from)}, window{max(w.from, r.to), w.to})
			}
			rest = slices.DeleteFunc(left, func(w window) bool { return w.from >= w.to })
		}
		for _, w := range rest {
			if w.from < w.to {
				open = append(open, window{w.from - trial.from, w.to - trial.from})
			}
		}
	}
	return open
}

// of returns when the change is done for a prefix of its block.
func (c change) of(prefix uint32) time.Duration {
	return time.Duration(c.at + c.every*float64(prefix))
}
