package tcpmodel

import "time"

// probeMargin is the time that Linux adds to two round trips before a tail loss probe.
const probeMargin = 8 * time.Millisecond

// setTimer starts the timer of a connection again, or stops it if nothing is in flight.
func (s *simulation) setTimer(flow int32) {
	c := &s.senders[flow]
	c.probing = false
	if c.una == c.next && c.deadline != 0 {
		c.deadline = 0
		return
	}
	wait := min(c.timeout<<min(c.backoff, 20), int64(s.p.TCP.MaxRTO))
	if s.p.TCP.RACK && c.phase == undisturbed && c.sacked == 0 && c.lost == 0 && !c.probed && c.roundTrip > 0 {
		margin := int64(probeMargin)
		if c.next-c.una <= 1 {
			margin = int64(s.p.TCP.MinRTO) // the client may delay its acknowledgment
		}
		if probe := 2*c.roundTrip + margin; probe < wait {
			wait, c.probing = probe, true
		}
	}
	c.deadline = s.now + wait
	if c.scheduled == 0 || c.scheduled > c.deadline {
		c.scheduled = c.deadline
		s.events.add(event{at: c.deadline, kind: senderTimer, flow: flow})
	}
}

// expireSender acts on the timer of a connection if it is due.
func (s *simulation) expireSender(flow int32) {
	c := &s.senders[flow]
	if c.scheduled != s.now {
		return // an earlier event has taken its place
	}
	c.scheduled = 0
	switch {
	case c.deadline == 0 || c.una == c.next:
		c.deadline = 0
	case c.deadline > s.now:
		c.scheduled = c.deadline
		s.events.add(event{at: c.deadline, kind: senderTimer, flow: flow})
	case c.probing:
		s.probe(flow)
	default:
		s.timeOut(flow)
	}
}

// probe sends a new segment or the last one again, to provoke an acknowledgment that shows losses.
func (s *simulation) probe(flow int32) {
	c := &s.senders[flow]
	c.probed = true
	if c.next < c.limit && c.next-c.una < s.receiveWindow {
		*c.at(c.next) = segmentState{}
		s.send(flow, c.next)
		c.next++
	} else if last := c.next - 1; !c.at(last).lost && !c.at(last).sacked {
		c.at(last).lost = true // counted as repeated, so that it stays once in flight
		c.lost++
		s.repeat(flow, last)
	}
	s.setTimer(flow)
}

// timeOut marks all segments in flight as lost, and sends the first one again.
func (s *simulation) timeOut(flow int32) {
	c := &s.senders[flow]
	s.timeouts++
	c.counters.Timeouts++
	if c.phase == undisturbed {
		c.threshold = c.reduced()
	}
	if !s.p.TCP.SACK {
		c.sacked = 0
	}
	c.lost, c.again = 0, 0
	for i := c.una; i < c.next; i++ {
		st := c.at(i)
		st.again = false
		st.lost = !st.sacked
		if st.lost {
			c.lost++
		}
	}
	c.phase, c.recoverUntil = timedOut, c.next
	c.scanned, c.hint = c.next, c.una
	c.size, c.credit = 1, 0
	c.backoff++
	s.setTimer(flow)
	s.transmit(flow)
}
