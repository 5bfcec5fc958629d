package xdp

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

const (
	// unlimited is a number of frames that is never reached.
	unlimited = math.MaxUint64
	// manyFrames is the number of frames that unlimited streams have left. It is never
	// reached, and sums of it fit.
	manyFrames = 1 << 62
	// lateBound is the time after it was due at which a frame counts as late, or the mean
	// time between the port's frames if that is longer. In this time 10 Gbit/s fill no
	// more than a veth's ring with frames of 64 bytes.
	lateBound = 20 * time.Microsecond
	// neverDue is the due time of a frame that is sent as fast as possible.
	neverDue = math.MaxUint64
)

// schedule defines which frames of a port are due when, in the form that the transmit program
// reads. Slots and groups count from 0; place moves them to the place of the port's.
type schedule struct {
	// order has the port's streams by slot: those of each group side by side, then
	// those that send as fast as they can.
	order []int
	// heap has one entry per group, the group that is due first on top.
	heap   []kernel.PortTxDue
	groups []kernel.PortTxGroup
	// eager are the streams that send as fast as they can.
	eager []eager
	// perNano is the rate of all paced groups.
	perNano float64
}

// eager is a stream that sends as fast as it can.
type eager struct{ left, begin uint64 }

// newSchedule returns the schedule of a share of a port's streams.
func newSchedule(streams []dealt, d time.Duration) *schedule {
	s := &schedule{}
	members := map[traffic.Load][]dealt{}
	var order []traffic.Load
	var last []int
	for _, dealt := range streams {
		load := dealt.load
		if load.Max {
			last = append(last, dealt.stream)
			s.eager = append(s.eager, eager{left: min(intended(load, d), manyFrames), begin: uint64(load.Delay)})
			continue
		}
		s.perNano += float64(load.Rate.Frames) / float64(load.Rate.PerNanos)
		if members[load] == nil {
			order = append(order, load)
		}
		members[load] = append(members[load], dealt)
	}
	for _, load := range order {
		m := members[load]
		if g := newGroup(load, uint64(len(m)), d); g.Left > 0 {
			g.First = uint32(len(s.order))
			s.heap = append(s.heap, kernel.PortTxDue{Due: uint64(load.Delay) + m[0].phase, Group: uint32(len(s.groups))})
			s.groups = append(s.groups, g)
		}
		for _, dealt := range m {
			s.order = append(s.order, dealt.stream)
		}
	}
	// What is sorted is a heap.
	slices.SortStableFunc(s.heap, func(a, b kernel.PortTxDue) int { return cmp.Compare(a.Due, b.Due) })
	s.order = append(s.order, last...)
	return s
}

// newGroup is a group of n streams of a load. Its frames are due n*f/p apart, in
// lowest terms.
func newGroup(load traffic.Load, n uint64, d time.Duration) kernel.PortTxGroup {
	g := kernel.PortTxGroup{Streams: uint32(n), Left: manyFrames}
	if hi, lo := bits.Mul64(intended(load, d), n); hi == 0 {
		g.Left = min(lo, manyFrames)
	}
	per, frames := uint64(load.Rate.PerNanos), uint64(load.Rate.Frames)
	by := frame.CommonDivisor(per, frames)
	per, frames = per/by, frames/by
	by = frame.CommonDivisor(per, n)
	hi, lo := bits.Mul64(frames, n/by)
	per /= by
	for hi > 0 || lo > math.MaxInt64 { // wrong by less than one in 2^62
		lo, hi, per = lo>>1|hi<<63, hi>>1, per>>1
	}
	g.Whole, g.Part, g.Parts = per/lo, per%lo, lo
	return g
}

// place writes the schedule into the memory of a sender, for a port whose slots and
// groups begin at these numbers.
func (s *schedule) place(l *lane, slot, group uint32) {
	p := l.tx
	p.Groups = uint32(len(s.groups))
	p.Heap, p.Paced, p.Eager, p.EagerFirst = group, uint32(len(s.heap)), uint32(len(s.eager)), slot+uint32(len(s.order)-len(s.eager))
	for i, g := range s.groups {
		g.First += slot
		l.groups[group+uint32(i)] = g
		p.Left = min(p.Left+g.Left, manyFrames)
	}
	for i, due := range s.heap {
		due.Group += group
		l.heap[group+uint32(i)] = due
	}
	for i, e := range s.eager {
		stream := &l.streams[p.EagerFirst+uint32(i)]
		stream.Left, stream.Begin = e.left, e.begin
		p.EagerLeft = min(p.EagerLeft+e.left, manyFrames)
	}
	p.Left += p.EagerLeft
	p.Bound = uint64(lateBound)
	if s.perNano > 0 {
		p.Bound = max(p.Bound, uint64(1/s.perNano))
	}
	p.LastDue = neverDue
}

// intended is the number of frames that one stream of the load sends in a
// duration: the rate times what its delay leaves of that, rounded down, at least
// one.
func intended(load traffic.Load, d time.Duration) uint64 {
	n := uint64(unlimited)
	if load.Frames > 0 {
		n = load.Frames
	}
	if d > 0 && !load.Max {
		rated := mulDiv(uint64(max(0, d-load.Delay)), uint64(load.Rate.Frames), uint64(load.Rate.PerNanos), 1)
		n = min(n, max(1, rated))
	}
	return n
}

// mulDiv returns a*b/(c*d) rounded down, or unlimited where that does not fit.
func mulDiv(a, b, c, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	for _, by := range [...]uint64{c, d} {
		rest := hi % by
		hi /= by
		lo, _ = bits.Div64(rest, lo, by)
	}
	if hi > 0 {
		return unlimited
	}
	return lo
}
