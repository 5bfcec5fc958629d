package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/traffic"
)

// clear resets all received flows and makes them count frames of an epoch; 0
// counts none. The flow's lock makes a frame either the old trial's or the new.
func (p *port) clear(epoch uint16) error {
	flow := portRxFlow{Epoch: epoch, Trial: p.engine.number}
	for i, s := range p.rx {
		flow.Timed = 0
		if p.engine.owns(s.TxPort) {
			flow.Timed = 1
		}
		if err := p.programs.RxFlows.Update(uint32(i), &flow, ebpf.UpdateExist|ebpf.UpdateLock); err != nil {
			return fmt.Errorf("clearing the counters of stream %d on port %s: %w", s.ID, p.Name, err)
		}
	}
	return nil
}

// read adds the port's received flows to a measurement.
func (p *port) read(m *traffic.Measurement) error {
	var flow portRxFlow
	var late uint64
	for i, s := range p.rx {
		if err := p.programs.RxFlows.LookupWithFlags(uint32(i), &flow, ebpf.LookupLock); err != nil {
			return fmt.Errorf("reading the counters of stream %d on port %s: %w", s.ID, p.Name, err)
		}
		late += flow.Late
		m.Rx[traffic.RxKey{Stream: s.ID, Port: p.Name}] = flow.count()
	}
	if late > 0 {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteReceiver, Text: fmt.Sprintf(
			"%d frames came back on %s more than %d frames behind the newest of their stream; whether they were copies is not known, and they count as lost", late, p.Name, 32*len(flow.Window))})
	}
	return nil
}

// count is the flow in the terms of a measurement.
func (f *portRxFlow) count() traffic.RxCount {
	c := traffic.RxCount{
		Received: f.Received, Duplicate: f.Duplicate, Reordered: f.Reordered, OutOfSequence: f.OutOfSequence,
		Next: f.Next, GapEnd: f.GapEnd, FirstNs: f.FirstNs, LastNs: f.LastNs,
	}
	if f.Timed == 0 || f.Received == 0 {
		return c
	}
	c.Latency = traffic.Latency{
		Count: f.Received, MinNs: f.LatencyMin, MaxNs: f.LatencyMax, SumNs: f.LatencySum,
		JitterCount: f.Received - 1, JitterMaxNs: f.JitterMax, JitterSumNs: f.JitterSum,
		Buckets: map[uint32]uint64{},
	}
	for i, n := range f.Buckets {
		if n > 0 {
			c.Latency.Buckets[uint32(i)] = n
		}
	}
	return c
}

// strays are test frames that belong to no stream of the trial.
type strays struct {
	// stale frames are of an earlier trial, unknown ones of streams that the port
	// does not expect.
	stale, unknown uint64
}

// strays returns the port's counters since it was opened.
func (p *port) strays() (strays, error) {
	var all []portRxPort
	var sum strays
	if err := p.programs.RxPorts.Lookup(uint32(0), &all); err != nil {
		return sum, fmt.Errorf("reading the counters of port %s: %w", p.Name, err)
	}
	for _, c := range all {
		sum.stale += c.Stale
		sum.unknown += c.Unknown
	}
	return sum, nil
}
