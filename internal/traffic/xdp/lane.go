package xdp

import (
	"math/bits"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// lane is a share of a port's streams in its sender, in the memory that is shared with the
// transmit program. Its methods do the same as the program (bpf/schedule.h), for a port that
// user space sends on.
type lane struct {
	port *port
	// share is the number of the share.
	share int
	tx    *kernel.PortTxPort
	// heap, groups and streams contain the entries of all ports of the sender.
	heap    []kernel.PortTxDue
	groups  []kernel.PortTxGroup
	streams []kernel.PortTxStream
	// slots has the slot of each stream of the port; -1 for a stream that sends nothing or
	// belongs to another lane.
	slots []int
	// user sends the frames from user space; nil where the transmit program sends them.
	user userSender
	// begin of the trial on the monotonic clock, and the bodies by their number, for user.
	begin  int64
	bodies [][]byte
}

// take hands out a frame that is due at now, in ns since the beginning.
func (l *lane) take(now uint64) (kernel.PortTxFrame, bool) {
	p := l.tx
	switch {
	case p.RetryHead != p.RetryTail:
		f := p.Retry[p.RetryTail%uint32(len(p.Retry))]
		p.RetryTail++
		p.Left--
		return f, true
	case p.Paced > 0 && l.heap[p.Heap].Due <= now:
		return l.takePaced(), true
	case p.EagerLeft > 0:
		return l.takeEager(now)
	}
	return kernel.PortTxFrame{}, false
}

func (l *lane) takePaced() kernel.PortTxFrame {
	p := l.tx
	heap := l.heap[p.Heap : p.Heap+p.Paced]
	g := &l.groups[heap[0].Group]
	f := kernel.PortTxFrame{Due: heap[0].Due, Slot: g.First + g.Turn}
	if g.Turn++; g.Turn == g.Streams {
		g.Turn = 0
	}
	if g.Left--; g.Left > 0 {
		heap[0].Due += g.Whole
		if g.Gathered += g.Part; g.Gathered >= g.Parts {
			g.Gathered -= g.Parts
			heap[0].Due++
		}
	} else {
		p.Paced--
		heap[0] = heap[p.Paced]
		heap = heap[:p.Paced]
	}
	for n := 0; ; {
		child := 2*n + 1
		if child >= len(heap) {
			break
		}
		if child+1 < len(heap) && heap[child+1].Due < heap[child].Due {
			child++
		}
		if heap[n].Due <= heap[child].Due {
			break
		}
		heap[n], heap[child] = heap[child], heap[n]
		n = child
	}
	p.Left--
	return f
}

func (l *lane) takeEager(now uint64) (kernel.PortTxFrame, bool) {
	p := l.tx
	for range p.Eager {
		slot := p.EagerFirst + p.EagerTurn
		if p.EagerTurn++; p.EagerTurn == p.Eager {
			p.EagerTurn = 0
		}
		s := &l.streams[slot]
		if s.Left == 0 || s.Begin > now {
			continue
		}
		s.Left--
		p.EagerLeft--
		p.Left--
		return kernel.PortTxFrame{Due: neverDue, Slot: slot}, true
	}
	return kernel.PortTxFrame{}, false
}

// next returns when the next frame is due, and whether there is one.
func (l *lane) next() (uint64, bool) {
	p := l.tx
	if p.Left == 0 {
		return 0, false
	}
	if p.RetryHead != p.RetryTail {
		return 0, true
	}
	at := uint64(neverDue)
	if p.Paced > 0 {
		at = l.heap[p.Heap].Due
	}
	if p.EagerLeft > 0 {
		for _, s := range l.streams[p.EagerFirst : p.EagerFirst+p.Eager] {
			if s.Left > 0 {
				at = min(at, s.Begin)
			}
		}
	}
	return at, true
}

// refuse takes back a frame that the device had no room for.
func (l *lane) refuse(f kernel.PortTxFrame) {
	p := l.tx
	l.streams[f.Slot].TakeBack(f)
	p.Refused++
	p.Left++
	p.Retry[p.RetryHead%uint32(len(p.Retry))] = f
	p.RetryHead++
}

// write writes a frame into b. A frame that was in a hole has its places in ranges from
// before.
func (l *lane) write(f kernel.PortTxFrame, b []byte, nanos uint64) {
	t := &l.streams[f.Slot]
	if f.Replay > 0 {
		t.MoveBack(f.Replay)
		defer func() {
			for range f.Replay - 1 {
				t.MoveOn()
			}
		}()
	}
	t.Write(b, nanos)
}

// left counts frames that left together.
func (l *lane) left(frames []kernel.PortTxFrame, now uint64) {
	p := l.tx
	atomic.AddUint64(&p.Sent, uint64(len(frames))) // samples read it
	p.Clump = max(p.Clump, uint64(len(frames)))
	for _, f := range frames {
		l.record(f.Due, now)
	}
}

// record notes when a frame left.
func (l *lane) record(due, now uint64) {
	if due == neverDue {
		return
	}
	p, lag := l.tx, max(now, due)-due
	p.Lag = max(p.Lag, lag)
	if lag > p.Bound {
		atomic.AddUint64(&p.Late, 1) // samples read it
		p.Row++
		p.RowMost = max(p.RowMost, p.Row)
	} else {
		p.Row = 0
	}
	if p.LastDue != neverDue {
		p.Paces[paceBucket(max(lag, p.LastLag)-min(lag, p.LastLag))]++
	}
	p.LastDue, p.LastLag = due, lag
}

// paceSubBits is PACE_SUB_BITS.
const paceSubBits = 2

// paceBucket returns the bucket of a spacing error in nanoseconds.
func paceBucket(ns uint64) int {
	if ns < 2<<paceSubBits {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - paceSubBits
	return min(shift<<paceSubBits+int(ns>>shift), len(kernel.PortTxPort{}.Paces)-1)
}

// paceBound returns the largest spacing error in a bucket, in nanoseconds.
func paceBound(bucket int) uint64 {
	if bucket < 2<<paceSubBits {
		return uint64(bucket)
	}
	shift := bucket>>paceSubBits - 1
	return (uint64(bucket)-uint64(shift)<<paceSubBits+1)<<shift - 1
}

// pacing returns how constant the lane's load was.
func (l *lane) pacing() traffic.Pacing {
	p := l.tx
	pacing := traffic.Pacing{
		MaxLag: time.Duration(p.Lag), MaxBurst: p.RowMost, CaughtUp: p.Late, MaxClump: p.Clump,
	}
	if p.CatchUp > 0 {
		pacing.MaxBurst = min(pacing.MaxBurst, max(catchUpTogether, p.Clumped))
	}
	var all, n uint64
	for _, frames := range p.Paces {
		all += frames
	}
	for bucket, frames := range p.Paces {
		if n += frames; n > 0 && n >= all-all/100 {
			pacing.SpacingError = time.Duration(paceBound(bucket))
			break
		}
	}
	return pacing
}
