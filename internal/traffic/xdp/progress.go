package xdp

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// flowsWatched is up to how many flows of a port the gaps are looked for. One flow
// takes some microseconds.
const flowsWatched = 4096

// stopGrace is the time that a sender may be behind its schedule when it is stopped.
const stopGrace = 10 * time.Millisecond

// progress contains what is kept of a trial between two reports.
type progress struct {
	// reached is the next sequence number of every flow, port by port, at some times,
	// the oldest first.
	reached []reached
	// lost is the highest count that was reported.
	lost uint64
}

// reached contains the next sequence number of each flow of the ports, at a time of the
// monotonic clock.
type reached struct {
	at   int64
	next []uint64
}

// Progress implements traffic.ProgressReporter. A frame is lost when a later one of
// its stream had arrived the age before, and when its number has left the window, so
// that it would count as late. What arrived is read before what left, so that it is
// never more.
func (e *Engine) Progress(_ context.Context, age time.Duration) (traffic.Progress, error) {
	s := &e.sampled
	s.mu.Lock()
	defer s.mu.Unlock()
	var p traffic.Progress
	if s.trial == nil {
		return p, errNoTrial
	}
	known := &s.trial.progress
	now := reached{at: monotonic()}
	before := known.before(now.at - int64(age))
	var lost uint64
	for _, port := range s.ports {
		n, err := port.receive.receivedIn(s.number)
		if err != nil {
			return p, err
		}
		p.Received += n
		if len(port.receive.streams) > flowsWatched {
			now.next = append(now.next, make([]uint64, len(port.receive.streams))...)
			continue
		}
		for i := range port.receive.streams {
			var overtaken uint64
			if before != nil {
				overtaken = before[len(now.next)]
			}
			next, missing, err := port.receive.gaps(i, overtaken)
			if err != nil {
				return p, err
			}
			now.next = append(now.next, next)
			lost += missing
		}
	}
	known.reached = append(known.reached, now)
	known.lost = max(known.lost, lost)
	p.Lost = known.lost
	for _, sender := range s.trial.senders {
		p.Expected += sender.expected()
	}
	return p, nil
}

// before returns the next sequence numbers of the flows at a time, or earlier; nil if they are
// not known. Older ones are forgotten.
func (p *progress) before(at int64) []uint64 {
	for len(p.reached) > 1 && p.reached[1].at <= at {
		p.reached = p.reached[1:]
	}
	if len(p.reached) == 0 || p.reached[0].at > at {
		return nil
	}
	return p.reached[0].next
}

// expected returns the number of frames that the sender has sent, each counted once per
// receiver.
func (s *sender) expected() (n uint64) {
	for _, l := range s.lanes {
		for i, stream := range l.port.send.streams {
			if l.slots[i] >= 0 {
				n += l.streams[l.slots[i]].Sent() * uint64(len(stream.RxPorts))
			}
		}
	}
	return n
}

// gaps is one above the highest sequence number of a flow, and how many numbers below
// overtaken, or before the window, are missing. It counts none too many.
func (r *receiver) gaps(i int, overtaken uint64) (next, missing uint64, err error) {
	var first kernel.PortRxFlow
	if err := r.readFlow(i, &first); err != nil || first.Next == first.Received {
		return first.Next, 0, err
	}
	x := r.attached.programs.Expected[i]
	blocks := uint64(x.Mask) + 1
	var seen []uint32
	from := max(overtaken, windowStart(first.Next, blocks))
	for block := from / blockNumbers; block <= (first.Next-1)/blockNumbers; block++ {
		entry := atomic.LoadUint64(&r.attached.programs.Window[uint64(x.Window)+block&uint64(x.Mask)])
		if tag := uint32(first.Epoch)<<16 | uint32(uint16(block>>x.Shift)); uint32(entry>>32) != tag {
			entry = 0
		}
		seen = append(seen, uint32(entry))
	}
	var last kernel.PortRxFlow
	if err := r.readFlow(i, &last); err != nil {
		return 0, 0, err
	}
	// What left the window meanwhile was overwritten, and only counts as missing if it
	// was missing before.
	begin := max(from, windowStart(last.Next, blocks))
	if begin >= first.Next {
		return first.Next, 0, nil
	}
	var inside uint64
	for n, entry := range seen {
		low := (from/blockNumbers + uint64(n)) * blockNumbers
		inside += uint64(bits.OnesCount32(entry & between(low, begin, first.Next)))
	}
	// A frame below first.Next that came meanwhile may have been seen or not.
	arrived := first.Received - min(inside, first.Received) + last.Reordered - first.Reordered
	arrived += r.attached.holes.Below(r.streams[i].ID, begin) // never sent
	return first.Next, begin - min(arrived, begin), nil
}

// between masks the bits of a block that begins at low for numbers from begin up to,
// but not including, end.
func between(low, begin, end uint64) uint32 {
	mask := ^uint32(0)
	if begin > low {
		mask = uint32(uint64(mask) << min(begin-low, 32))
	}
	if end < low+blockNumbers {
		mask &= uint32(1)<<(end-min(low, end)) - 1
	}
	return mask
}

// windowStart is the lowest number in a window of so many blocks.
func windowStart(next, blocks uint64) uint64 {
	newest := (max(next, 1) - 1) / blockNumbers
	if newest < blocks {
		return 0
	}
	return (newest - blocks + 1) * blockNumbers
}

// readFlow reads the counters of a flow at one moment.
func (r *receiver) readFlow(i int, flow *kernel.PortRxFlow) error {
	if err := r.attached.programs.RxFlows.LookupWithFlags(uint32(i), flow, ebpf.LookupLock); err != nil {
		return fmt.Errorf("reading the counters of stream %d on port %s: %w", r.streams[i].ID, r.Name, err)
	}
	return nil
}

// cut makes a trial that was stopped as long as it was: what the loads ask for
// afterwards is not intended any more. A sender may be behind its schedule by the
// grace when it is stopped.
func (s *sampled) cut(t *trial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var took time.Duration
	for _, sender := range t.senders {
		took = max(took, time.Duration(sender.end-sender.begin))
	}
	if t.Duration > 0 && took > 0 {
		t.Duration = min(t.Duration, max(took-stopGrace, 1))
	}
}
