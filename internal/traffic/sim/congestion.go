package sim

import (
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// share is the share of the arrived frames that passes.
type share struct{ left, arrived uint64 }

// of is the share of n frames, rounded down.
func (s share) of(n uint64) uint64 { return mulDiv(n, s.left, s.arrived) }

// congested are the ports of the device that more comes to than limit says they can
// send.
func (e *Engine) congested(m *traffic.Measurement, r reach, limit func(port string, arrived uint64) uint64) map[string]share {
	arrived := map[string]uint64{}
	for i := range e.streams {
		for _, port := range e.streams[i].RxPorts {
			arrived[port] += r.of(m, &e.streams[i], port)
		}
	}
	full := map[string]share{}
	for port, n := range arrived {
		if left := limit(port, n); left < n {
			full[port] = share{left, n}
		}
	}
	return full
}

// holdBack is back pressure: the device pauses every port that sends to a congested
// one until no more comes than that one can send. A pause stops the whole port, with
// its frames to others. Trials of a number of frames are not held back.
func (e *Engine) holdBack(m *traffic.Measurement, d time.Duration) {
	if e.behaviour.BackPressure == nil || !*e.behaviour.BackPressure || e.trial.Duration <= 0 {
		return
	}
	capacityPPM := e.capacity()
	full := e.congested(m, nil, func(port string, _ uint64) uint64 { return frames(e.rate(port, capacityPPM), d) })
	slowest := map[string]share{}
	for _, s := range e.streams {
		for _, port := range s.RxPorts {
			now, held := slowest[s.TxPort]
			if f, ok := full[port]; ok && (!held || f.of(1<<40) < now.of(1<<40)) {
				slowest[s.TxPort] = f
			}
		}
	}
	sent, intended := map[string]uint64{}, map[string]uint64{}
	for _, s := range e.streams {
		tx, sends := m.Tx[s.ID]
		pace, held := slowest[s.TxPort]
		if !sends || !held {
			continue
		}
		tx.Sent = pace.of(tx.Sent)
		m.Tx[s.ID] = tx
		sent[s.TxPort], intended[s.TxPort] = sent[s.TxPort]+tx.Sent, intended[s.TxPort]+tx.Intended
	}
	for _, name := range e.order {
		if _, held := slowest[name]; held && intended[name] > 0 {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteHeldBack,
				Text: fmt.Sprintf("the device held %s back: it sent %s of %s frames", name, traffic.Grouped(sent[name]), traffic.Grouped(intended[name]))})
		}
	}
}

// block is head of line blocking: frames that wait for a congested port hold up
// those behind them, so that the same share of them is lost on the way to other
// ports.
func (e *Engine) block(m *traffic.Measurement, r reach, d time.Duration) {
	if e.behaviour.HeadOfLineBlocking == nil || !*e.behaviour.HeadOfLineBlocking {
		return
	}
	capacityPPM := e.capacity()
	full := e.congested(m, r, func(port string, arrived uint64) uint64 {
		out := &egress{e: e, port: port, capacityPPM: capacityPPM}
		return out.limit(phase{0, d}, arrived) + e.row.buffer
	})
	waitsFor := map[string][]string{} // congested ports, by the port that sends to them
	for _, s := range e.streams {
		for _, port := range s.RxPorts {
			if _, ok := full[port]; ok && m.Tx[s.ID].Sent > 0 && !slices.Contains(waitsFor[s.TxPort], port) {
				waitsFor[s.TxPort] = append(waitsFor[s.TxPort], port)
			}
		}
	}
	for i := range e.streams {
		s := &e.streams[i]
		for _, port := range s.RxPorts {
			arrive := r.of(m, s, port)
			passes := arrive
			for _, other := range waitsFor[s.TxPort] {
				if other != port {
					passes = min(passes, full[other].of(arrive))
				}
			}
			if passes < arrive {
				r[traffic.RxKey{Stream: s.ID, Port: port}] = passes
			}
		}
	}
}
