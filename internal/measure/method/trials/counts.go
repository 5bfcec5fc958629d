package trials

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Counts are the frames of a trial at all receivers together.
type Counts struct {
	// Expected is the number of frames that should have arrived: each sent frame counts once
	// per receiver. Received frames are counted once per receiver; Lost ones were expected
	// and not received.
	Expected, Received, Lost uint64
	// Duplicate and Reordered frames, and those OutOfSequence in the older count.
	Duplicate, Reordered, OutOfSequence uint64
	// Congested frames are received ones with the mark CE (RFC 3168). Markable reports whether
	// a device may mark any of the frames.
	Congested uint64
	Markable  bool
	// Notified and Notifications are the congestion notification packets that all ports sent and
	// received. Answered reports whether marked frames were to be answered.
	Notified, Notifications uint64
	Answered                bool
	// Pauses are the frames of flow control that all ports received.
	Pauses traffic.PauseCount
	// RoCE reports whether frames of RoCEv2 were sent.
	RoCE bool
	// Order describes the extent of the reordering.
	Order traffic.Order
	// Late frames came back too long after later ones to be distinguished from duplicates,
	// and Damaged ones were altered: both count as lost.
	Late    uint64
	Damaged traffic.Damage
	// Stale frames of earlier trials arrived during this one.
	Stale uint64
	// Excess frames were received beyond those sent: the counters contradict each
	// other, and the trial proves nothing.
	Excess uint64
	// Flooded frames arrived at ports that only watch their streams.
	Flooded uint64
	// Elsewhere are the received frames that came by a further path.
	Elsewhere uint64
	// Explained are the lost frames that an event of the test explains: sent while the device
	// had no route for them. They say nothing about the tester. ByEvent reports
	// whether the test has such an event.
	Explained uint64
	ByEvent   bool
}

// count adds the frames of a stream at a receiver, of which so many were sent and so many
// arrived there or by a further path. It returns how many were lost.
func (c *Counts) count(rx traffic.RxCount, sent, arrived uint64) (lost uint64) {
	lost = sent - min(sent, arrived)
	c.Expected += sent
	c.Received += arrived
	c.Lost += lost
	c.Elsewhere += arrived - rx.Received
	c.Duplicate += rx.Duplicate
	c.Reordered += rx.Reordered
	c.OutOfSequence += rx.OutOfSequence
	c.Congested += rx.Congested
	c.Notified += rx.Notified
	c.Order.Add(rx.Order)
	c.Late += rx.Late
	c.Excess += rx.Received - min(sent, rx.Received)
	return lost
}

// forwarded contains the frames that arrived at each port, and when the first and the last one
// did, in nanoseconds of the port's clock. The times are 0 if the engine does not know them.
type forwarded []struct{ frames, first, last uint64 }

// add adds the frames of a stream at a port, of which so many arrived there or by a further path.
func (f forwarded) add(port int, rx traffic.RxCount, arrived uint64) {
	p := &f[port]
	p.frames += arrived
	if rx.Received > 0 && (p.first == 0 || rx.FirstNs < p.first) {
		p.first = rx.FirstNs
	}
	p.last = max(p.last, rx.LastNs)
}

// rate returns the sum of the rates of the ports in frames/s, and its lowest value. The frames of
// a port count over the time in which they arrived, which is at least the time that sending took.
// A device that holds frames at the end of sending may send them faster than before, up to line
// rate: then the rate was lower.
func (f forwarded) rate(sending time.Duration, line func(port int) *big.Rat) (rate, low int64) {
	sum, least := new(big.Rat), new(big.Rat)
	for i, p := range f {
		took := max(sending, time.Duration(p.last-p.first))
		counted := new(big.Rat).SetFrac(new(big.Int).SetUint64(p.frames), big.NewInt(int64(took)))
		sum.Add(sum, counted)
		if took == sending {
			least.Add(least, counted)
			continue
		}
		drained := line(i)
		drained.Mul(drained, big.NewRat(int64(took-sending), int64(time.Second)))
		before := new(big.Rat).SetInt(new(big.Int).SetUint64(p.frames))
		if before.Sub(before, drained); before.Sign() > 0 {
			least.Add(least, before.Quo(before, new(big.Rat).SetInt64(int64(sending))))
		}
	}
	second := big.NewRat(int64(time.Second), 1)
	return frame.Round(sum.Mul(sum, second)), frame.Round(least.Mul(least, second))
}

// reorderingRecord returns the order of a trial in compact form; nil if all frames were in order.
func reorderingRecord(o traffic.Order) *v1alpha1.ReorderingRecord {
	r := v1alpha1.ReorderingRecord{
		ExtentMax: int64(o.ExtentMax), ExtentUnknown: int64(o.Beyond), LateMaxNs: int64(o.LateMaxNs), DegreeMax: int64(o.DegreeMax),
		Gaps: int64(o.Gaps), GapSum: int64(o.GapSum), GapMin: int64(o.GapMin),
	}
	for i := range uint32(traffic.OrderBucketCount) {
		low, _ := traffic.OrderBounds(i)
		if n := o.Extents[i]; n > 0 {
			r.Extents = append(r.Extents, int64(low), int64(n))
		}
		if n := o.Degrees[i]; n > 0 {
			r.Degrees = append(r.Degrees, int64(low), int64(n))
		}
	}
	if len(r.Extents) == 0 {
		return nil
	}
	return &r
}
