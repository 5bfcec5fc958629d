package trex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// unsentShare is the shortfall that is noted: more than one in so many frames.
	unsentShare = 10_000
	// latencyLag is the time after a trial for which the server's latency may be out of
	// date. The server updates the extremes twice a second, at unknown moments; this is
	// three times as long.
	latencyLag = 1500 * time.Millisecond
	// settleFor is the longest wait beyond that for a histogram that holds every
	// latency frame that was received.
	settleFor, settlePoll = 3 * time.Second, 100 * time.Millisecond
)

// Read implements traffic.Generator. It leaves the streams and their filters in
// place, for late frames; the next operation removes them, see clean.
func (e *Engine) Read(ctx context.Context) (traffic.Measurement, error) {
	t := e.trial
	if t == nil {
		return traffic.Measurement{}, errors.New("there was no trial to read")
	}
	if t.read != nil {
		return *t.read, nil
	}
	if e.server.client.lost != nil {
		return traffic.Measurement{}, e.server.client.lost
	}
	for _, s := range t.senders {
		if !s.done {
			return traffic.Measurement{}, fmt.Errorf("port %s is still sending: counters are read when sending has ended", s.Name)
		}
	}
	if err := e.server.events(ctx); err != nil {
		return traffic.Measurement{}, err
	}
	now, err := t.settled(ctx)
	if err != nil {
		return traffic.Measurement{}, err
	}
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
	for _, s := range t.senders {
		t.sent(s, now, &m)
		for _, one := range s.streams {
			for _, part := range one.parts {
				if err := now.same(t.base, part); err != nil {
					return traffic.Measurement{}, err
				}
			}
			if err := t.received(one, now, &m); err != nil {
				return traffic.Measurement{}, err
			}
		}
	}
	if err := t.receivedFromOthers(ctx, &m); err != nil {
		return traffic.Measurement{}, err
	}
	ports, err := e.server.portStats(ctx)
	if err != nil {
		return traffic.Measurement{}, err
	}
	e.addErrors(&m, t.ports, ports)
	t.read = &m
	return m, nil
}

// settled reads the counters once the latency in them is final. A caller that let the
// frames settle does not wait again.
func (t *trial) settled(ctx context.Context) (counters, error) {
	now, err := t.server.client.counters(ctx, t.parts())
	if err != nil {
		return now, err
	}
	if t.lags(now) {
		passed := t.server.clock.Now().Sub(t.begin)
		for _, s := range t.senders {
			if err := t.server.clock.Sleep(ctx, s.took+latencyLag-passed); err != nil {
				return counters{}, err
			}
			passed = t.server.clock.Now().Sub(t.begin)
		}
		now, err = t.server.client.counters(ctx, t.parts())
	}
	for end := t.server.clock.Now().Add(settleFor); ; now, err = t.server.client.counters(ctx, t.parts()) {
		if err != nil || t.correct(now) || !t.server.clock.Now().Before(end) {
			return now, err
		}
		if err := t.server.clock.Sleep(ctx, settlePoll); err != nil {
			return now, err
		}
	}
}

// correct corrects the histograms of probes, and reports whether all received frames
// are in them.
func (t *trial) correct(now counters) bool {
	complete := true
	for _, s := range t.parts() {
		if s.rule != ruleLatency {
			continue
		}
		var received uint64
		for _, p := range t.server.ports {
			received += now.received(s, p) - t.base.received(s, p)
		}
		now.of(s).correct(received)
		complete = complete && now.of(s).timed() >= received
	}
	return complete
}

// lags reports whether frames are timed in the trial and the server does not report
// every latency.
func (t *trial) lags(now counters) bool {
	for _, s := range t.parts() {
		if s.rule == ruleLatency && now.of(s).exact == nil {
			return true
		}
	}
	return false
}

// sent adds what a port sent.
func (t *trial) sent(s *sender, now counters, m *traffic.Measurement) {
	m.TxTime = max(m.TxTime, s.took)
	var intends, sent uint64
	for _, one := range s.streams {
		load := t.Loads[one.ID]
		c := traffic.TxCount{Sent: one.sent(now, t.base, s.port), Duration: max(0, s.took-load.Delay)}
		c.Intended = t.asked(s, one, c.Sent)
		if load.Max && t.Duration > 0 || c.Intended == unlimited {
			c.Intended = c.Sent // as fast as it can: intended is what it sent
		}
		m.Tx[one.ID] = c
		intends, sent = intends+c.Intended, sent+c.Sent
	}
	if sent < intends && (intends-sent)*unsentShare > intends {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteUnsent, Text: fmt.Sprintf(
			"port %s (TRex port %d) sent %d frames of %d intended, %d less, in %v", s.Name, s.index(), sent, intends, intends-sent, s.took.Round(time.Millisecond))})
	}
}

// received adds what the ports received of a stream.
func (t *trial) received(s sending, now counters, m *traffic.Measurement) error {
	expected := map[string]bool{}
	for _, name := range s.RxPorts {
		expected[name] = true
	}
	for _, p := range t.server.ports {
		n := s.received(now, t.base, p)
		if !expected[p.Name] {
			misdelivered(m, p, n)
			continue
		}
		c := traffic.RxCount{Received: n}
		if probe, ok := s.probe(); ok {
			stats := now.of(probe)
			latency, err := stats.latency()
			if err != nil {
				return err
			}
			c.Latency = latency
			if of := now.received(probe, p) - t.base.received(probe, p); latency.Count != of {
				m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteReceiver, Text: fmt.Sprintf(
					"TRex timed %d frames of stream %d and received %d of those: its latency is not of the frames of this trial", latency.Count, s.ID, of)})
			}
			c.Duplicate = min(n, stats.Errors.Duplicate)
			c.Received -= c.Duplicate
			c.Reordered = stats.Errors.OutOfOrder
		}
		m.Rx[traffic.RxKey{Stream: s.ID, Port: p.Name}] = c
	}
	return nil
}

// misdelivered adds frames that a port received and should not have.
func misdelivered(m *traffic.Measurement, p *port, n uint64) {
	if n == 0 {
		return
	}
	traffic.Put(&m.Misdelivered, p.Name, m.Misdelivered[p.Name]+n)
}

// addErrors adds the errors that the ports counted.
func (e *Engine) addErrors(m *traffic.Measurement, before, after []portStats) {
	note := func(kind traffic.NoteKind, p *port, format string, n uint64) {
		m.Notes = append(m.Notes, traffic.Note{Kind: kind, Text: fmt.Sprintf(
			"port %s (TRex port %d) "+format+": %s", p.Name, p.index(), traffic.Grouped(n), p.remedy())})
	}
	for i, p := range e.server.ports {
		if n := after[i].Errors - before[i].Errors; n > 0 {
			traffic.Put(&m.Dropped, p.Name, n)
			note(traffic.NoteDropped, p, "dropped %s received frames", n)
		}
		if n := after[i].Refused - before[i].Refused; n > 0 {
			note(traffic.NoteReceiver, p, "failed to send %s frames", n)
		}
	}
}
