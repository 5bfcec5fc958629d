package tcpmodel

// quickAcks is the number of segments that a client acknowledges at once at the begin of a connection and after a pause,
// as Linux does.
const quickAcks = 16

// receiver is the client's end of one connection.
type receiver struct {
	next     int64 // segment that it waits for
	limit    int64 // first segment of the following block
	ahead    []bool
	aheads   int
	pending  int // segments in order that it has not acknowledged
	quick    int
	lastData int64
	deadline int64 // of the delayed acknowledgment; 0 without one
	timer    bool  // an event of the timer is scheduled
	marked   bool  // state of the echo of marks
	lastAck  int64 // time at which the last acknowledgment reaches the server
}

// receive processes a data segment that reaches the client at a time.
func (s *simulation) receive(f frame, at int64) {
	r := &s.receivers[f.flow]
	s.result.DeliveredPackets++
	s.result.DeliveredBytes += int64(f.bytes - fcsBytes)
	if at-r.lastData > s.minRTO {
		r.quick = quickAcks
	}
	r.lastData = at
	if s.dctcp && f.marked != r.marked {
		if r.pending > 0 {
			s.acknowledge(f.flow, at, -1)
		}
		r.marked = f.marked
	}
	if !s.dctcp && f.marked {
		r.marked = true
	}
	mask := int64(len(r.ahead) - 1)
	switch {
	case f.segment < r.next || f.segment > r.next && r.ahead[f.segment&mask]:
		s.result.DuplicatePackets++
		s.acknowledge(f.flow, at, -1)
	case f.segment > r.next:
		s.bytes += int64(f.bytes - ethernetBytes - tcpipBytes)
		r.ahead[f.segment&mask] = true
		r.aheads++
		s.acknowledge(f.flow, at, f.segment)
	default:
		s.bytes += int64(f.bytes - ethernetBytes - tcpipBytes)
		gap := r.aheads > 0
		for r.next++; r.ahead[r.next&mask] && r.next < r.limit; r.next++ {
			r.ahead[r.next&mask] = false
			r.aheads--
		}
		r.pending++
		if r.quick > 0 {
			r.quick--
			gap = true
		}
		if gap || r.pending >= 2 || s.p.TCP.DelayedAck == 0 {
			s.acknowledge(f.flow, at, -1)
		} else {
			r.deadline = at + int64(s.p.TCP.DelayedAck)
			if !r.timer {
				r.timer = true
				s.events.add(event{at: r.deadline, kind: receiverTimer, flow: f.flow})
			}
		}
		if r.next == r.limit {
			s.complete(at)
		}
	}
}

// acknowledge sends an acknowledgment of all segments before next, and of segment sack if it is not -1.
func (s *simulation) acknowledge(flow int32, at, sack int64) {
	r := &s.receivers[flow]
	r.pending, r.deadline = 0, 0
	r.lastAck = max(r.lastAck, at+2*int64(s.p.Propagation)+s.hostDelay())
	s.events.add(event{at: r.lastAck, kind: ackArrives, flow: flow, segment: r.next, sack: sack, marked: r.marked})
	if !s.dctcp {
		r.marked = false
	}
}

// expireReceiver sends the delayed acknowledgment if it is due.
func (s *simulation) expireReceiver(flow int32) {
	r := &s.receivers[flow]
	r.timer = false
	switch {
	case r.deadline == 0:
	case r.deadline > s.now:
		r.timer = true
		s.events.add(event{at: r.deadline, kind: receiverTimer, flow: flow})
	default:
		s.acknowledge(flow, s.now, -1)
	}
}
