package xdp

import (
	"container/heap"
	"math"
	"math/bits"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// unlimited is a number of frames that is never reached.
const unlimited = math.MaxUint64

// schedule says which stream's frame is due when. Streams with the same load
// form a group and take turns: frame k of a group of n streams at f frames per p
// nanoseconds is due floor(k*p/(n*f)) ns after its beginning. That is computed from k
// every time, so that no error builds up. Frames that the device did not take
// are due again at once.
type schedule struct {
	// paced is a heap, the group that is due first on top; eager are the groups
	// that send whenever no paced frame is due.
	paced, eager groups
	// later are the eager groups that have not begun, the first to begin first.
	later []*group
	retry []uint32
	// perNano is the rate of all paced groups, only for sizing bursts.
	perNano float64
}

// group is a set of streams with one load.
type group struct {
	load  traffic.Load
	slots []uint32
	// next is the number of frames handed out, limit where it ends.
	next, limit uint64
	// due is the time of the next frame; of an eager group it is its round.
	due int64
	// begin is where due starts.
	begin int64
}

// newSchedule groups the streams of a port; slots and loads go together.
func newSchedule(slots []uint32, loads []traffic.Load, d time.Duration) *schedule {
	s := &schedule{}
	byLoad := map[traffic.Load]*group{}
	var all []*group
	for i, load := range loads {
		if load.Max {
			load.Rate = traffic.Rate{}
		} else {
			s.perNano += float64(load.Rate.Frames) / float64(load.Rate.PerNanos)
		}
		g := byLoad[load]
		if g == nil {
			g = &group{load: load}
			byLoad[load] = g
			all = append(all, g)
		}
		g.slots = append(g.slots, slots[i])
	}
	for _, g := range all {
		g.limit = intended(g.load, d)
		if g.limit != unlimited {
			g.limit *= uint64(len(g.slots))
		}
		switch g.due, g.begin = int64(g.load.Delay), int64(g.load.Delay); {
		case g.limit == 0:
		case g.load.Max && g.due > 0:
			s.later = append(s.later, g)
		case g.load.Max:
			s.eager = append(s.eager, g)
		default:
			s.paced = append(s.paced, g)
		}
	}
	heap.Init(&s.paced)
	slices.SortFunc(s.later, func(a, b *group) int { return int(a.due - b.due) })
	return s
}

// greedy says that some streams send as fast as they can.
func (s *schedule) greedy() bool { return len(s.eager)+len(s.later) > 0 }

// admit lets the eager groups begin whose time has come, in the round that the
// others are in.
func (s *schedule) admit(now int64) {
	for len(s.later) > 0 && s.later[0].due <= now {
		g := s.later[0]
		s.later = s.later[1:]
		g.begin = 0
		if len(s.eager) > 0 {
			g.begin = s.eager[0].due
		}
		g.due = g.begin
		heap.Push(&s.eager, g)
	}
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

// fill puts the slots of frames that are due at now into plan, the earliest due
// first, and returns how many.
func (s *schedule) fill(plan []uint32, now int64) int {
	s.admit(now)
	n := copy(plan, s.retry)
	s.retry = slices.Delete(s.retry, 0, n)
	for ; n < len(plan); n++ {
		from := &s.paced
		if len(s.paced) == 0 || s.paced[0].due > now {
			from = &s.eager
		}
		if len(*from) == 0 {
			break
		}
		plan[n] = from.take()
	}
	return n
}

// next returns when the next frame is due, and whether there is one.
func (s *schedule) next() (int64, bool) {
	switch {
	case len(s.retry) > 0 || len(s.eager) > 0:
		return 0, true
	case len(s.paced) > 0 && len(s.later) > 0:
		return min(s.paced[0].due, s.later[0].due), true
	case len(s.paced) > 0:
		return s.paced[0].due, true
	case len(s.later) > 0:
		return s.later[0].due, true
	}
	return 0, false
}

// groups is a heap of groups that have frames left.
type groups []*group

// take returns the slot of the first group's next frame.
func (h *groups) take() uint32 {
	g := (*h)[0]
	n := uint64(len(g.slots))
	slot := g.slots[g.next%n]
	g.next++
	switch {
	case g.next == g.limit:
		heap.Pop(h)
		return slot
	case g.load.Max:
		g.due = g.begin + int64(g.next/n)
	default:
		after := mulDiv(g.next, uint64(g.load.Rate.PerNanos), uint64(g.load.Rate.Frames), n)
		g.due = g.begin + int64(min(after, uint64(math.MaxInt64-g.begin)))
	}
	if len(*h) > 1 {
		heap.Fix(h, 0)
	}
	return slot
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h groups) Len() int           { return len(h) }
func (h groups) Less(i, j int) bool { return h[i].due < h[j].due }
func (h groups) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *groups) Push(x any)        { *h = append(*h, x.(*group)) }
func (h *groups) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
