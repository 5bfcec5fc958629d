package tcpmodel

// frame is a data segment on its way.
type frame struct {
	segment int64
	bytes   int // in the buffer
	flow    int32
	marked  bool
	arrived int64 // of a stateless frame, in ns
}

// stateless is the flow of frames without a connection.
const stateless = -1

// fifo is a queue of frames with its length in bytes.
type fifo struct {
	frames []frame
	head   int
	bytes  int
}

func (q *fifo) push(f frame) {
	q.frames = append(q.frames, f)
	q.bytes += f.bytes
}

func (q *fifo) pop() frame {
	f := q.frames[q.head]
	q.head++
	q.bytes -= f.bytes
	if q.head == len(q.frames) {
		q.frames, q.head = q.frames[:0], 0
	} else if q.head >= 1024 && q.head*2 >= len(q.frames) {
		q.frames, q.head = append(q.frames[:0], q.frames[q.head:]...), 0
	}
	return f
}

func (q *fifo) empty() bool { return q.head == len(q.frames) }

// network is the switch with the port to the client. The frame that the port sends has left its queue.
type network struct {
	config   Switch
	queues   []fifo
	turn     int
	used     int // bytes in all queues
	busy     bool
	sending  frame
	dropped  int
	marks    int
	maxQueue int
}

func newNetwork(p Params) *network {
	n := &network{config: p.Switch, queues: make([]fifo, 1)}
	if p.Switch.Buffering == InputBuffer {
		n.queues = make([]fifo, p.Servers+1) // the last one has stateless frames
	}
	return n
}

// arrive queues a frame, or drops it, and reports whether it was queued.
func (n *network) arrive(f frame, ecn bool) bool {
	q := &n.queues[0]
	if n.config.Buffering == InputBuffer {
		if q = &n.queues[len(n.queues)-1]; f.flow != stateless {
			q = &n.queues[f.flow]
		}
	}
	after := q.bytes + f.bytes
	c := &n.config
	if c.BufferBytes > 0 && n.used+f.bytes > c.BufferBytes ||
		c.PortBytes > 0 && after > c.PortBytes ||
		c.Alpha > 0 && float64(after) > c.Alpha*float64(c.BufferBytes-n.used) {
		if f.flow != stateless {
			n.dropped++
		}
		return false
	}
	if ecn && c.ECNThresholdBytes > 0 && after > c.ECNThresholdBytes {
		f.marked = true
		n.marks++
	}
	q.push(f)
	n.used += f.bytes
	n.maxQueue = max(n.maxQueue, q.bytes)
	return true
}

// begin takes the next frame for the client's port, and reports whether there is one.
func (n *network) begin() bool {
	for range n.queues {
		q := &n.queues[n.turn]
		n.turn = (n.turn + 1) % len(n.queues)
		if !q.empty() {
			n.sending = q.pop()
			n.used -= n.sending.bytes
			n.busy = true
			return true
		}
	}
	n.busy = false
	return false
}
