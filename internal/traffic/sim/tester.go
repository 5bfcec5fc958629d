package sim

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// WithTester gives the modeled tester faults. It is for tests of the measuring methods, which must
// find or suspect each of them.
func WithTester(t fault.Tester) Option { return func(e *Engine) { e.run.faulty = &t } }

// testerFaults contains what the tester does wrong in the trial in hand.
type testerFaults struct {
	events []fault.Event
	// schedules of the ports that stall, and the loads of the ports in frames per nanosecond.
	schedules map[string]*fault.Schedule
	loads     map[string]float64
	// asked is the trial that the tester was asked for.
	asked traffic.Trial
	// length of the trial if it is not stopped.
	length time.Duration
	// hidden is the factor by which the trial lasts longer without the tester's knowledge, and
	// shown the factor that it knows.
	hidden, shown *big.Rat
}

// begin draws the faults of a trial, and returns the trial as the tester sends it: more slowly if
// it is late.
func (r *trialRun) begin(trial traffic.Trial) traffic.Trial {
	r.faults = testerFaults{asked: trial, hidden: big.NewRat(1, 1), shown: big.NewRat(1, 1)}
	r.trial = &trial
	if r.faulty == nil {
		return trial
	}
	length := r.sendingTime()
	for _, e := range r.faulty.Trial(r.handling.number, length) {
		switch by := big.NewRat(whole+e.SharePPM, whole); e.Kind {
		case fault.Late:
			r.faults.shown.Mul(r.faults.shown, by)
		case fault.Slew:
			r.faults.hidden.Mul(r.faults.hidden, by)
		}
	}
	if by := new(big.Rat).Mul(r.faults.shown, r.faults.hidden); by.Cmp(big.NewRat(1, 1)) != 0 {
		trial = slowed(trial, by)
		r.trial = &trial
		length = r.sendingTime()
	}
	r.faults.events, r.faults.length = r.faulty.Trial(r.handling.number, length), length
	r.faults.schedules, r.faults.loads = map[string]*fault.Schedule{}, map[string]float64{}
	for _, port := range r.tester.order {
		if load := r.portLoad(port); load.Sign() > 0 {
			line := r.sender(port).rate(port, whole)
			haste := big.NewRat(line.Frames, line.PerNanos)
			r.faults.loads[port], _ = load.Float64()
			r.faults.schedules[port] = fault.NewSchedule(r.faults.events, port, haste.Quo(haste, load), length)
		}
	}
	return trial
}

// behind returns the time by which the ports that stay late prolong a trial of a number of frames.
func (f *testerFaults) behind() (longest time.Duration) {
	for _, schedule := range f.schedules {
		longest = max(longest, schedule.Behind())
	}
	return longest
}

// portLoad returns the load that a port sends in frames per nanosecond.
func (r *trialRun) portLoad(port string) *big.Rat {
	sum := new(big.Rat)
	for _, s := range r.streams {
		if load, sends := r.trial.Loads[s.ID]; sends && s.TxPort == port && !load.Max && load.Rate.PerNanos > 0 {
			sum.Add(sum, big.NewRat(load.Rate.Frames, load.Rate.PerNanos))
		}
	}
	return sum
}

// slowed returns a trial with the same frames in a longer time.
func slowed(trial traffic.Trial, by *big.Rat) traffic.Trial {
	loads := make(map[uint16]traffic.Load, len(trial.Loads))
	for id, load := range trial.Loads {
		if !load.Max && load.Rate.Frames > 0 {
			rate := big.NewRat(load.Rate.Frames, load.Rate.PerNanos)
			rate.Quo(rate, by).Mul(rate, big.NewRat(int64(time.Second), 1))
			slow, err := traffic.RateOf(rate)
			if err != nil {
				slow = nearest(rate)
			}
			load.Rate = slow
		}
		load.Delay = longer(load.Delay, by)
		loads[id] = load
	}
	trial.Loads, trial.Duration = loads, longer(trial.Duration, by)
	return trial
}

func longer(d time.Duration, by *big.Rat) time.Duration {
	n := new(big.Rat).Mul(big.NewRat(int64(d), 1), by)
	return time.Duration(new(big.Int).Quo(n.Num(), n.Denom()).Int64())
}

// of returns the events of some kinds that affect a port.
func (f *testerFaults) of(port string, kinds ...fault.Kind) (some []fault.Event) {
	for _, e := range f.events {
		if e.Has(port) && slices.Contains(kinds, e.Kind) {
			some = append(some, e)
		}
	}
	return some
}

// sentOf returns how many of the frames of a stream the tester sends in the first d of a trial, if
// it intends so many.
func (r *trialRun) sentOf(s *traffic.Stream, load traffic.Load, intended uint64, d time.Duration) uint64 {
	if schedule := r.faults.schedules[s.TxPort]; schedule != nil && !load.Max {
		intended = min(intended, frames(load.Rate, schedule.Served(d)-load.Delay))
	}
	for _, e := range r.faults.of(s.TxPort, fault.Short) {
		intended -= mulDiv(intended, uint64(e.SharePPM), uint64(whole))
	}
	return intended
}

// report adds to a measurement what the tester knows of its sending.
func (r *trialRun) report(m *traffic.Measurement, d time.Duration) {
	m.TxTime = d
	if r.faults.hidden != nil && r.faults.hidden.Cmp(big.NewRat(1, 1)) != 0 {
		m.TxTime = longer(d, new(big.Rat).Inv(r.faults.hidden))
	}
	for port, schedule := range r.faults.schedules {
		rate := r.faults.loads[port]
		var p traffic.Pacing
		p.MaxLag = schedule.Lag(d)
		for _, burst := range schedule.Bursts(d) {
			n := uint64(rate * float64(burst))
			p.MaxBurst, p.CaughtUp = max(p.MaxBurst, n), p.CaughtUp+n
		}
		traffic.Put(&m.Pacing, port, p)
	}
	for _, port := range r.tester.order {
		if len(r.faults.of(port, fault.Short)) == 0 {
			continue
		}
		var intended, sent uint64
		for _, s := range r.streams {
			if tx, sends := m.Tx[s.ID]; sends && s.TxPort == port {
				intended, sent = intended+tx.Intended, sent+tx.Sent
			}
		}
		if sent < intended {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteUnsent, Text: fmt.Sprintf("port %s sent %d frames of %d intended", port, sent, intended)})
		}
	}
}

// unsent takes from what reaches the device the frames that cards accepted and did not send.
func (fw *forwarding) unsent(m *traffic.Measurement, r reach, d time.Duration) {
	for i := range fw.run.streams {
		s := &fw.run.streams[i]
		tx, sends := m.Tx[s.ID]
		if !sends {
			continue
		}
		var n uint64
		for _, e := range fw.run.faults.of(s.TxPort, fault.CardUnsent) {
			n += fw.run.inEvent(e, s, tx.Sent, tx.Sent, d)
		}
		if n = min(n, tx.Sent); n == 0 {
			continue
		}
		for _, port := range s.RxPorts {
			r[traffic.RxKey{Stream: s.ID, Port: port}] = r.of(m, s, port) - min(n, r.of(m, s, port))
		}
		traffic.Put(&m.Unsent, s.TxPort, m.Unsent[s.TxPort]+n)
	}
	for _, port := range slices.Sorted(maps.Keys(m.Unsent)) {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteCardUnsent, Text: fmt.Sprintf("the card of %s did not send %s frames that it had accepted", port, traffic.Grouped(m.Unsent[port]))})
	}
}

// inEvent returns how many of the frames of a stream that arrive are affected by an event up to
// d, if so many of the sent ones arrive.
func (r *trialRun) inEvent(e fault.Event, s *traffic.Stream, sent, arrive uint64, d time.Duration) uint64 {
	load := r.trial.Loads[s.ID]
	rate := load.Rate
	if load.Max || rate.Frames <= 0 {
		rate = traffic.Rate{Frames: int64(sent), PerNanos: max(int64(d), 1)}
	}
	schedule := r.faults.schedules[s.TxPort]
	upTo := func(at time.Duration) uint64 { return min(sent, frames(rate, schedule.Served(at)-load.Delay)) }
	n := mulDiv(upTo(e.Until(d))-upTo(min(e.From, d)), uint64(e.SharePPM), uint64(whole))
	if arrive < sent {
		n = mulDiv(n, arrive, sent)
	}
	return min(n, arrive)
}

// receive takes from the frames of a stream that come to a port of the tester what the port
// loses, and reports it as far as the tester knows.
func (fw *forwarding) receive(c *passed, s *traffic.Stream, port string, m *traffic.Measurement, d time.Duration) {
	f := &fw.run.faults
	for _, e := range f.of(port, fault.Drop, fault.Overflow, fault.Contention, fault.Wire, fault.Link) {
		if e.From > d {
			continue
		}
		n := fw.run.inEvent(e, s, c.sent, c.received, d)
		if n > 0 {
			c.received -= n
			c.gapEnd = max(c.gapEnd, min(c.sent, frames(fw.run.trial.Loads[s.ID].Rate, f.schedules[s.TxPort].Served(e.Until(d)))))
		}
		foreign := e.Foreign
		switch e.Kind {
		case fault.Drop:
			if n+foreign > 0 {
				traffic.Put(&m.Dropped, port, m.Dropped[port]+n+foreign)
				once(m, traffic.NoteDropped, fmt.Sprintf("the driver of %s counted received frames that it dropped", port))
			}
		case fault.Wire:
			if n+foreign > 0 {
				traffic.Put(&m.WireErrors, port, m.WireErrors[port]+n+foreign)
				once(m, traffic.NoteWire, fmt.Sprintf("the card of %s dropped frames that arrived damaged", port))
			}
		case fault.Overflow:
			if n > 0 {
				once(m, traffic.NoteReceiver, fmt.Sprintf("the ring of %s overflowed", port))
			}
		case fault.Contention:
			once(m, traffic.NoteForeignLoad, "others used the processors of the tester")
		case fault.Link:
			once(m, traffic.NoteCounter, fmt.Sprintf("the link of %s went down", port))
		}
	}
}

// once adds a note unless the measurement has it.
func once(m *traffic.Measurement, kind traffic.NoteKind, text string) {
	note := traffic.Note{Kind: kind, Text: text}
	if !slices.Contains(m.Notes, note) {
		m.Notes = append(m.Notes, note)
	}
}

// reordered returns how many frames of a stream overtake others in the tester at a port.
func (fw *forwarding) reordered(c passed, s *traffic.Stream, port string, m *traffic.Measurement, d time.Duration) (n uint64) {
	for _, e := range fw.run.faults.of(port, fault.Reorder) {
		n += fw.run.inEvent(e, s, c.sent, c.received, d)
	}
	if n > 0 {
		once(m, traffic.NoteOvertaken, fmt.Sprintf("reordered frames came into %s by another receive queue than the frames before them", port))
	}
	return min(n, c.received)
}

// mistimed returns by how much a port of the tester times all frames of the trial wrongly, and
// by how much the last of them.
func (fw *forwarding) mistimed(port string, m *traffic.Measurement, d time.Duration) (all, last time.Duration) {
	for _, e := range fw.run.faults.of(port, fault.Step, fault.Contention) {
		if e.From > d {
			continue
		}
		if e.Kind == fault.Contention {
			last = max(last, e.Span)
			continue
		}
		all += e.Span
		once(m, traffic.NoteClock, "the clock of the tester was set during the trial")
	}
	return all, last
}

// mistime adds to a latency by how much all of its frames were timed wrongly, and the last one.
func mistime(l traffic.Latency, all, last time.Duration) traffic.Latency {
	if l.Count == 0 || all == 0 && last == 0 {
		return l
	}
	moved := map[uint32]uint64{}
	for i, n := range l.Buckets {
		low, _ := traffic.BucketBounds(i)
		moved[traffic.BucketIndex(low+uint64(all))] += n
	}
	l.Buckets = moved
	l.MinNs, l.MaxNs, l.SumNs = l.MinNs+uint64(all), l.MaxNs+uint64(all), l.SumNs+l.Count*uint64(all)
	if last > 0 {
		highest := traffic.BucketIndex(l.MaxNs)
		if l.Buckets[highest] > 0 {
			l.Buckets[highest]--
			l.Buckets[traffic.BucketIndex(l.MaxNs+uint64(last))]++
		}
		l.MaxNs, l.SumNs = l.MaxNs+uint64(last), l.SumNs+uint64(last)
		l.JitterMaxNs = max(l.JitterMaxNs, uint64(last))
	}
	return l
}

// tellLate adds to samples how many frames of a port were late so far, if the tester tells.
func (r *trialRun) tellLate(all *traffic.PortSamples, port string, m traffic.Measurement) {
	if r.faulty != nil && !r.faulty.Untimed {
		traffic.Put(&all.CaughtUp, port, m.Pacing[port].CaughtUp)
	}
}
