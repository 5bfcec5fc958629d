package tcpmodel

// phase is the state of loss recovery of a sender.
type phase uint8

const (
	undisturbed phase = iota
	recovering        // fast recovery, until recoverUntil is acknowledged
	timedOut          // slow start after a timeout, until recoverUntil is acknowledged
)

// duplicateThreshold is the number of segments above a missing one that must arrive before it counts as lost.
const duplicateThreshold = 3

// segmentState is the scoreboard's entry of a segment in flight.
type segmentState struct {
	sentAt       int64
	order        uint64 // of its last transmission
	limit        int64  // next new segment at its last retransmission
	sacked, lost bool
	again        bool // retransmitted since it was marked as lost
	ever         bool // retransmitted at any time
}

// sender is the server's end of one connection. It counts in segments.
type sender struct {
	window
	counters         Connection
	segments         int64 // of a block
	lastBytes        int   // data of the last segment of a block
	una, next, limit int64 // oldest segment in flight, next new one, first one that the application has not written
	board            []segmentState
	sacked, lost     int // segments in flight with this state
	again            int
	top              [duplicateThreshold]int64 // highest sacked segments, ascending
	scanned          int64                     // segments below have been checked for losses
	hint             int64                     // segments below are not waiting for retransmission
	order, newest    uint64                    // of transmissions, and of the latest one that arrived
	phase            phase
	recoverUntil     int64
	reducedUntil     int64 // the window does not react to marks again before this segment is acknowledged
	limited          bool  // the window was the limit at the last transmission
	probed           bool  // a tail loss probe was sent since the last progress
	probing          bool  // the deadline is for a tail loss probe

	// Proportional rate reduction (RFC 6937).
	delivered, out, flightAtLoss int

	roundTrip, variation, timeout int64 // ns
	backoff                       uint
	deadline                      int64 // of the timer; 0 without one
	scheduled                     int64 // time of its earliest event; 0 without one
	lastSent                      int64
	linkFree                      int64 // time at which the server's link has sent all frames
}

func (c *sender) at(segment int64) *segmentState { return &c.board[segment&int64(len(c.board)-1)] }

func (c *sender) flight() int { return int(c.next-c.una) - c.sacked - c.lost + c.again }

// forget sets the state of a new connection whose handshake took a time.
func (c *sender) forget(t TCP, roundTrip int64) {
	c.window = newWindow(t)
	c.phase, c.backoff, c.probed = undisturbed, 0, false
	c.roundTrip, c.variation = roundTrip, roundTrip/2
	c.timeout = boundedTimeout(t, roundTrip, roundTrip/2)
}

func boundedTimeout(t TCP, roundTrip, variation int64) int64 {
	return min(roundTrip+max(4*variation, int64(t.MinRTO)), int64(t.MaxRTO))
}

// measure updates the timeout by a round-trip time (RFC 6298). Like Linux, the variation's part is at least MinRTO.
func (c *sender) measure(t TCP, sample int64) {
	if c.roundTrip == 0 {
		c.roundTrip, c.variation = sample, sample/2
	} else {
		c.variation += (max(c.roundTrip-sample, sample-c.roundTrip) - c.variation) / 4
		c.roundTrip += (sample - c.roundTrip) / 8
	}
	c.timeout = boundedTimeout(t, c.roundTrip, c.variation)
}

// request lets the server's application write a block.
func (s *simulation) request(flow int32) {
	c := &s.senders[flow]
	s.acknowledged(flow, event{segment: s.receivers[flow].next, sack: -1})
	c.limit += c.segments
	switch idle := s.now - c.lastSent; {
	case !s.p.TCP.KeepOpen:
		c.forget(s.p.TCP, 2*2*int64(s.p.Propagation)+int64(s.p.Hosts.Delay))
	case s.p.TCP.IdleRestart && c.lastSent > 0 && idle > c.timeout:
		if c.threshold != unlimited {
			c.threshold = max(c.threshold, 3*c.size/4)
		}
		for ; idle > c.timeout && c.size > s.p.TCP.InitialWindow; idle -= c.timeout {
			c.size = max(c.size/2, s.p.TCP.InitialWindow)
		}
		c.epoch = 0
	}
	s.transmit(flow)
}

// acknowledged processes an acknowledgment.
func (s *simulation) acknowledged(flow int32, e event) {
	c := &s.senders[flow]
	if c.una == c.next || e.segment < c.una {
		return
	}
	delivered := 0
	if e.sack >= c.una && s.p.TCP.SACK {
		delivered += c.markSacked(e.sack)
	}
	acked := int(e.segment - c.una)
	if acked > 0 {
		delivered += s.advance(c, e.segment)
	} else if !s.p.TCP.SACK && c.sacked < int(c.next-c.una)-1 {
		c.sacked++ // a duplicate acknowledgment is a segment that has left the network
		delivered++
	}
	if c.phase != undisturbed && c.una >= c.recoverUntil {
		if c.phase == recovering {
			c.size = c.threshold
		}
		c.phase = undisturbed
		if !s.p.TCP.SACK {
			c.sacked = 0
		}
	}
	s.detectLosses(c, acked)
	s.reactToMarks(c, e.marked, acked)
	switch {
	case c.phase == undisturbed && c.lost > 0:
		c.enterRecovery(delivered)
	case c.phase == recovering:
		c.reduceByRate(delivered)
	case acked > 0 && c.limited && c.una >= c.reducedUntil:
		c.grow(acked, s.now, c.roundTrip)
	}
	if acked > 0 {
		c.backoff, c.probed = 0, false
		s.setTimer(flow)
	}
	s.transmit(flow)
}

// markSacked notes the arrival of a segment above a hole, and returns the number of newly delivered segments.
func (c *sender) markSacked(segment int64) int {
	st := c.at(segment)
	if st.sacked {
		return 0
	}
	st.sacked = true
	c.sacked++
	if st.lost {
		c.lost--
		if st.again {
			c.again--
		}
		st.lost, st.again = false, false
	}
	c.newest = max(c.newest, st.order)
	for i := range c.top {
		if segment > c.top[i] {
			if i > 0 {
				c.top[i-1] = c.top[i]
			}
			c.top[i] = segment
		}
	}
	return 1
}

// advance removes cumulatively acknowledged segments, and returns the number of segments among them that had not been sacked.
func (s *simulation) advance(c *sender, to int64) int {
	delivered, sampled := 0, false
	acked := int(to - c.una)
	for ; c.una < to; c.una++ {
		st := c.at(c.una)
		if !st.sacked {
			delivered++
			c.newest = max(c.newest, st.order)
			if !st.ever && !sampled {
				sampled = true
				c.measure(s.p.TCP, s.now-st.sentAt)
			}
		} else {
			c.sacked--
		}
		if st.lost {
			c.lost--
			if st.again {
				c.again--
			}
		}
	}
	if !s.p.TCP.SACK {
		c.sacked = max(0, c.sacked-(acked-1)) // without SACK, sacked counts duplicate acknowledgments
	}
	c.scanned, c.hint = max(c.scanned, c.una), max(c.hint, c.una)
	return delivered
}

// detectLosses marks segments as lost.
func (s *simulation) detectLosses(c *sender, acked int) {
	switch {
	case s.p.TCP.RACK:
		if c.sacked == 0 && c.lost == 0 {
			return
		}
		for i := c.una; i < c.next; i++ {
			if st := c.at(i); !st.sacked && (!st.lost || st.again) && st.order < c.newest {
				c.markLost(i)
			}
		}
	case s.p.TCP.SACK:
		for ; c.scanned < c.top[0]; c.scanned++ {
			if st := c.at(c.scanned); !st.sacked && !st.lost {
				c.markLost(c.scanned)
			}
		}
		if s.p.TCP.LostRetransmit && c.phase == recovering && c.again > 0 {
			for i := c.una; i < c.scanned; i++ {
				if st := c.at(i); st.again && c.top[duplicateThreshold-1] >= st.limit {
					c.markLost(i)
				}
			}
		}
	case c.una == c.next:
	case c.phase == recovering && acked > 0 && !c.at(c.una).lost:
		c.markLost(c.una) // partial acknowledgment
	case c.phase == undisturbed && acked == 0 && c.sacked >= duplicateThreshold && c.una >= c.recoverUntil && !c.at(c.una).lost:
		c.markLost(c.una)
	}
}

// markLost makes a segment wait for retransmission.
func (c *sender) markLost(segment int64) {
	st := c.at(segment)
	if st.lost {
		c.again-- // its retransmission was lost too
		st.again = false
	} else {
		st.lost = true
		c.lost++
	}
	c.hint = min(c.hint, segment)
}

func (c *sender) enterRecovery(delivered int) {
	c.phase = recovering
	c.recoverUntil = c.next
	c.flightAtLoss = max(1, int(c.next-c.una))
	c.threshold = c.reduced()
	c.delivered, c.out = 0, 0
	c.reduceByRate(delivered)
	c.size = max(c.size, c.flight()+1) // the first retransmission is always sent
}

// reduceByRate sets the window of fast recovery (RFC 6937).
func (c *sender) reduceByRate(delivered int) {
	c.delivered += delivered
	flight := c.flight()
	send := 0
	if flight > c.threshold {
		send = (c.delivered*c.threshold+c.flightAtLoss-1)/c.flightAtLoss - c.out
	} else {
		send = min(c.threshold-flight, max(c.delivered-c.out, delivered)+1)
	}
	c.size = max(1, flight+max(0, send))
}

// reactToMarks reduces the window at most once per round trip.
func (s *simulation) reactToMarks(c *sender, marked bool, acked int) {
	if s.dctcp {
		c.countMarks(acked, marked, c.una, c.next)
	}
	if marked && c.phase == undisturbed && c.lost == 0 && c.una >= c.reducedUntil && c.next > c.una {
		c.threshold = c.reducedByMarks()
		c.size = c.threshold
		c.reducedUntil = c.next
	}
}

// transmit sends segments as windows allow: lost ones first, then new ones.
func (s *simulation) transmit(flow int32) {
	c := &s.senders[flow]
	for {
		waiting := c.lost > c.again
		fresh := c.next < c.limit && c.next-c.una < s.receiveWindow
		if !waiting && !fresh {
			c.limited = false
			return
		}
		if c.flight() >= c.size {
			c.limited = true
			return
		}
		if waiting {
			for st := c.at(c.hint); !st.lost || st.again; st = c.at(c.hint) {
				c.hint++
			}
			s.repeat(flow, c.hint)
			continue
		}
		*c.at(c.next) = segmentState{}
		s.send(flow, c.next)
		c.next++
	}
}

// repeat sends a lost segment again.
func (s *simulation) repeat(flow int32, segment int64) {
	c := &s.senders[flow]
	st := c.at(segment)
	st.again, st.ever, st.limit = true, true, c.next
	c.again++
	s.retransmissions++
	c.counters.Retransmissions++
	s.send(flow, segment)
}

// send puts a segment on the server's link.
func (s *simulation) send(flow int32, segment int64) {
	c := &s.senders[flow]
	st := c.at(segment)
	c.order++
	st.order, st.sentAt = c.order, s.now
	c.lastSent = s.now
	if c.phase == recovering {
		c.out++
	}
	s.result.SentPackets++
	c.linkFree = max(c.linkFree, s.now) + s.serverTime(s.bytesOf(flow, segment))
	s.events.add(event{at: c.linkFree + int64(s.p.Propagation), kind: frameArrives, flow: flow, segment: segment})
	if c.deadline == 0 {
		s.setTimer(flow)
	}
}
