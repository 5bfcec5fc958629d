package tcpmodel

// eventKind names what an event changes.
type eventKind uint8

const (
	requestArrives eventKind = iota // at a server
	frameArrives                    // at the switch
	portFree                        // the client's port has sent a frame
	ackArrives                      // at a server
	senderTimer                     // of a server's connection
	receiverTimer                   // of the client's delayed acknowledgment
	iterationStarts
	statelessArrives // at the switch; its segment is the number of the frame
)

// event is one entry of the schedule. Its fields segment and sack depend on its kind.
type event struct {
	at      int64 // ns
	order   uint64
	segment int64 // of a frame, or the cumulative acknowledgment
	sack    int64 // segment that an acknowledgment reports above segment, or -1
	flow    int32
	kind    eventKind
	marked  bool // congestion experienced, or its echo
}

// schedule is a heap of events by time. Events of one time keep the order in which they were added.
type schedule struct {
	heap  []event
	order uint64
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

func (s *schedule) add(e event) {
	e.order = s.order
	s.order++
	s.heap = append(s.heap, e)
	i := len(s.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&s.heap[parent]) {
			break
		}
		s.heap[i] = s.heap[parent]
		i = parent
	}
	s.heap[i] = e
}

// next removes the earliest event.
func (s *schedule) next() (event, bool) {
	if len(s.heap) == 0 {
		return event{}, false
	}
	first := s.heap[0]
	n := len(s.heap) - 1
	last := s.heap[n]
	s.heap = s.heap[:n]
	if n == 0 {
		return first, true
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if s.heap[c].before(&s.heap[least]) {
				least = c
			}
		}
		if !s.heap[least].before(&last) {
			break
		}
		s.heap[i] = s.heap[least]
		i = least
	}
	s.heap[i] = last
	return first, true
}
