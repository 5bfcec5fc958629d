package xdp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// receiver counts the frames that come to a port, by the programs that are attached to it.
type receiver struct {
	*netdev
	attached attachment
	// own are the names of all ports of the engine.
	own []string
	// streams are the configured streams by flow, and bodies the bodies of the streams of
	// all ports.
	streams []traffic.Stream
	bodies  kernel.Bodies
	// microflows are the records of the streams.
	microflows kernel.Microflows
	// counted frames of the last trial when it was read, and stragglers that arrived
	// after that.
	counted, stragglers uint64
}

// useStreams tells the programs which streams there are.
func (r *receiver) useStreams() error {
	clear(r.attached.programs.Index)
	for i, s := range r.streams {
		r.attached.programs.Index[s.ID] = uint64(i) + 1
	}
	return r.attached.programs.Use(r.bodies)
}

// makeRoom loads programs with more room, if that is needed, and puts them in place
// of the present ones.
func (r *receiver) makeRoom(want kernel.Room) error {
	if r.attached.programs.Room.Fits(want) {
		return nil
	}
	old, err := r.attached.grow(want)
	if err != nil {
		return err
	}
	return errors.Join(r.useStreams(), old.Close())
}

// clear resets all received flows and makes them count frames of an epoch; 0
// counts none. The flow's lock makes a frame either the old trial's or the new. The flows
// carry the number of the trial.
func (r *receiver) clear(epoch uint16, number uint64) error {
	r.attached.programs.Trial.Epoch = epoch
	forgetCaptured(r.attached.programs)
	flow := kernel.PortRxFlow{Epoch: epoch, Trial: number}
	for i, s := range r.streams {
		flow.Timed = 0
		if slices.Contains(r.own, s.TxPort) {
			flow.Timed = 1
		}
		if err := r.attached.programs.RxFlows.Update(uint32(i), &flow, ebpf.UpdateExist|ebpf.UpdateLock); err != nil {
			return fmt.Errorf("clearing the counters of stream %d on port %s: %w", s.ID, r.Name, err)
		}
	}
	r.notify()
	r.microflows.Forget(r.attached.programs) // once frames of earlier trials are stale
	return nil
}

// read adds the port's received flows to a measurement.
func (r *receiver) read(m *traffic.Measurement) error {
	var flow kernel.PortRxFlow
	var late, overtaken uint64
	for i, s := range r.streams {
		if err := r.readFlow(i, &flow); err != nil {
			return err
		}
		late, overtaken = late+flow.Late, overtaken+flow.Overtaken
		m.Rx[traffic.RxKey{Stream: s.ID, Port: r.Name}] = r.count(i, &flow)
	}
	r.readCaptured(m)
	if overtaken > 0 {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteOvertaken, Text: fmt.Sprintf(
			"%s reordered frames came into %s (%s) by another receive queue or processor than the frames before them: the tester may have changed their order", traffic.Grouped(overtaken), r.Name, r.Interface)})
	}
	if late > 0 {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteLate, Text: fmt.Sprintf(
			"%s frames came back on %s more than %v after later frames of their stream: whether they are copies is not known, and they do not count as received", traffic.Grouped(late), r.Name, reorderTime)})
	}
	return nil
}

// Microflows implements traffic.MicroflowCounter, in one part.
func (e *Engine) Microflows(_ context.Context, key traffic.RxKey, take func(traffic.MicroflowPart) error) error {
	for _, p := range e.ports {
		for i, s := range p.receive.streams {
			if p.Name == key.Port && s.ID == key.Stream && s.Track != traffic.TrackNone {
				return take(p.receive.microflows.Part(p.receive.attached.programs, i))
			}
		}
	}
	return fmt.Errorf("reading the microflows of stream %d at port %s: they are not tracked there", key.Stream, key.Port)
}

// SumMicroflows implements traffic.MicroflowCounter.
func (e *Engine) SumMicroflows(_ context.Context, sent map[uint16]traffic.TxCount, most int) ([]traffic.MicroflowSum, error) {
	var all []traffic.MicroflowSum
	for _, p := range e.ports {
		for i, s := range p.receive.streams {
			if s.Track == traffic.TrackNone {
				continue
			}
			sum := traffic.MicroflowSum{RxKey: traffic.RxKey{Stream: s.ID, Port: p.Name}}
			part := p.receive.microflows.Part(p.receive.attached.programs, i)
			sum.Add(sent[s.ID].Places(), uint64(len(part.Records)), 0, part.Records, most)
			all = append(all, sum)
		}
	}
	return traffic.JoinMicroflowSums(most, all), nil
}

// count returns the flow i of the port in the terms of a measurement, as if the numbers that
// were never sent did not exist.
func (r *receiver) count(i int, flow *kernel.PortRxFlow) traffic.RxCount {
	c, id := countFlow(flow), r.streams[i].ID
	c.Next -= r.attached.holes.Below(id, c.Next)
	c.GapEnd -= r.attached.holes.Below(id, c.GapEnd)
	c.Notified = r.notified(i)
	return c
}

// countFlow is the flow in the terms of a measurement, by the numbers of its frames.
func countFlow(f *kernel.PortRxFlow) traffic.RxCount {
	c := traffic.RxCount{
		Received: f.Received, Duplicate: f.Duplicate, Reordered: f.Reordered, OutOfSequence: f.OutOfSequence, Congested: f.Congested, Late: f.Late,
		Next: f.Next, GapEnd: f.GapEnd, FirstNs: f.FirstNs, LastNs: f.LastNs,
		SilentFromNs: f.SilentFrom, SilentToNs: f.SilentTo, Order: orderOfFlow(f),
	}
	if f.Timed == 0 || f.Received == 0 {
		return c
	}
	c.Latency = traffic.Latency{
		Count: f.Received, MinNs: f.LatencyMin, MaxNs: f.LatencyMax, SumNs: f.LatencySum,
		JitterCount: f.Received - 1, JitterMaxNs: f.JitterMax, JitterSumNs: f.JitterSum,
		Buckets: filled(f.Buckets[:]),
	}
	return c
}

// orderOfFlow returns how far behind the reordered frames of the flow arrived.
func orderOfFlow(f *kernel.PortRxFlow) traffic.Order {
	if f.Reordered == 0 {
		return traffic.Order{}
	}
	return traffic.Order{
		ExtentMax: f.Order.ExtentMax, DegreeMax: f.Order.DegreeMax, LateMaxNs: f.Order.LateNsMax, Beyond: f.Order.Beyond,
		Gaps: f.Order.Gaps, GapSum: f.Order.GapSum, GapMin: f.Order.GapMin,
		Extents: filled(f.Order.Extents[:]), Degrees: filled(f.Order.Degrees[:]),
	}
}

// filled are the buckets that have frames.
func filled(buckets []uint64) map[uint32]uint64 {
	frames := map[uint32]uint64{}
	for i, n := range buckets {
		if n > 0 {
			frames[uint32(i)] = n
		}
	}
	return frames
}

// strays are frames that are not received test frames of the trial.
type strays struct {
	// stale frames are of an earlier trial, unknown ones of streams that the port
	// does not expect.
	stale, unknown uint64
	damaged        traffic.Damage
	// pauses are frames of flow control.
	pauses traffic.PauseCount
	// notifications are congestion notification packets.
	notifications uint64
}

// since returns the increase since an earlier count.
func (s strays) since(before strays) strays {
	return strays{
		stale: s.stale - before.stale, unknown: s.unknown - before.unknown,
		damaged: traffic.Damage{
			Truncated: s.damaged.Truncated - before.damaged.Truncated, Corrupted: s.damaged.Corrupted - before.damaged.Corrupted,
			Fragmented: s.damaged.Fragmented - before.damaged.Fragmented,
		},
		pauses:        s.pauses.Since(before.pauses),
		notifications: s.notifications - before.notifications,
	}
}

// addTo adds the frames to a measurement, as those that a port got.
func (s strays) addTo(m *traffic.Measurement, port string) {
	if s.unknown > 0 {
		traffic.Put(&m.Misdelivered, port, s.unknown)
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteMisdelivered, Text: fmt.Sprintf(
			"%s test frames arrived at %s that were not for it: the device floods or misroutes", traffic.Grouped(s.unknown), port)})
	}
	if s.stale > 0 {
		traffic.Put(&m.Stale, port, s.stale)
	}
	if s.notifications > 0 {
		traffic.Put(&m.Notifications, port, s.notifications)
	}
	if d := s.damaged; d != (traffic.Damage{}) {
		traffic.Put(&m.Damaged, port, d)
		var kinds []string
		for _, k := range []struct {
			name   string
			frames uint64
		}{{"truncated", d.Truncated}, {"corrupted", d.Corrupted}, {"fragmented", d.Fragmented}} {
			if k.frames > 0 {
				kinds = append(kinds, traffic.Grouped(k.frames)+" "+k.name)
			}
		}
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteDamaged, Text: fmt.Sprintf(
			"the device damaged frames that came back on %s, which do not count as received: %s", port, strings.Join(kinds, ", "))})
	}
}

// findStragglers counts the frames that a trial received after it was read, before the
// next begins to count. They are stale, as those that arrive during that one.
func (r *receiver) findStragglers(trial uint64) error {
	n, err := r.receivedIn(trial)
	if err != nil {
		return err
	}
	r.stragglers = 0
	if r.counted > 0 {
		r.stragglers = n - r.counted
	}
	r.counted = 0
	return nil
}

// strays returns the port's counters since it was opened.
func (r *receiver) strays() (strays, error) {
	var all []kernel.PortRxPort
	var sum strays
	if err := r.attached.programs.RxPorts.Lookup(uint32(0), &all); err != nil {
		return sum, fmt.Errorf("reading the counters of port %s: %w", r.Name, err)
	}
	for _, c := range all {
		sum.stale += c.Stale
		sum.unknown += c.Unknown
		sum.damaged.Add(traffic.Damage{Truncated: c.Truncated, Corrupted: c.Corrupted, Fragmented: c.Fragmented})
		sum.notifications += c.Notified
		sum.pauses.Add(traffic.PauseCount{Frames: c.Pauses.Pauses, ByPriority: c.Pauses.Pfc})
	}
	return sum, nil
}
