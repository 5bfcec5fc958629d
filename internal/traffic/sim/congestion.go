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
func (fw *forwarding) congested(m *traffic.Measurement, r reach, limit func(port string, arrived uint64) uint64) map[string]share {
	arrived := map[string]uint64{}
	for i := range fw.run.streams {
		for _, port := range fw.run.streams[i].RxPorts {
			arrived[port] += r.of(m, &fw.run.streams[i], port)
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
func (fw *forwarding) holdBack(m *traffic.Measurement, d time.Duration) {
	if fw.dut.behaviour.BackPressure == nil || !*fw.dut.behaviour.BackPressure || fw.run.trial.Duration <= 0 {
		return
	}
	capacityPPM := fw.run.handling.capacity()
	full := fw.congested(m, nil, func(port string, _ uint64) uint64 { return frames(fw.run.handling.rate(port, capacityPPM), d) })
	slowest := map[string]share{}
	for _, s := range fw.run.streams {
		for _, port := range s.RxPorts {
			now, held := slowest[s.TxPort]
			if f, ok := full[port]; ok && (!held || f.of(1<<40) < now.of(1<<40)) {
				slowest[s.TxPort] = f
			}
		}
	}
	sent, intended := map[string]uint64{}, map[string]uint64{}
	for _, s := range fw.run.streams {
		tx, sends := m.Tx[s.ID]
		pace, held := slowest[s.TxPort]
		if !sends || !held {
			continue
		}
		tx.Sent = pace.of(tx.Sent)
		m.Tx[s.ID] = tx
		sent[s.TxPort], intended[s.TxPort] = sent[s.TxPort]+tx.Sent, intended[s.TxPort]+tx.Intended
	}
	for _, name := range fw.run.tester.order {
		if _, held := slowest[name]; held && intended[name] > 0 {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteHeldBack,
				Text: fmt.Sprintf("the device held %s back: it sent %s of %s frames", name, traffic.Grouped(sent[name]), traffic.Grouped(intended[name]))})
		}
	}
}

// block is head of line blocking: frames that wait for a congested port hold up
// those behind them, so that the same share of them is lost on the way to other
// ports.
func (fw *forwarding) block(m *traffic.Measurement, r reach, d time.Duration) {
	if fw.dut.behaviour.HeadOfLineBlocking == nil || !*fw.dut.behaviour.HeadOfLineBlocking {
		return
	}
	capacityPPM := fw.run.handling.capacity()
	full := fw.congested(m, r, func(port string, arrived uint64) uint64 {
		out := &egress{handling: &fw.run.handling, port: port, capacityPPM: capacityPPM}
		return out.limit(phase{0, d}, arrived) + fw.run.handling.row.buffer
	})
	waitsFor := map[string][]string{} // congested ports, by the port that sends to them
	for _, s := range fw.run.streams {
		for _, port := range s.RxPorts {
			if _, ok := full[port]; ok && m.Tx[s.ID].Sent > 0 && !slices.Contains(waitsFor[s.TxPort], port) {
				waitsFor[s.TxPort] = append(waitsFor[s.TxPort], port)
			}
		}
	}
	for i := range fw.run.streams {
		s := &fw.run.streams[i]
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
