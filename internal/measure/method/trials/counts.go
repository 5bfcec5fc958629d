package trials

import "nodrop.dev/nodrop/internal/traffic"

// Counts are the frames of a trial at all receivers together.
type Counts struct {
	// Expected is the number of frames that should have arrived: each sent frame counts once
	// per receiver. Received frames are counted once per receiver; Lost ones were expected
	// and not received.
	Expected, Received, Lost uint64
	// Duplicate and Reordered frames, and those OutOfSequence in the older count.
	Duplicate, Reordered, OutOfSequence uint64
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
	// Unreachable are the lost frames that were sent while the device had no route for
	// them: they say nothing about the tester.
	Unreachable uint64
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
	c.Order.Add(rx.Order)
	c.Late += rx.Late
	c.Excess += rx.Received - min(sent, rx.Received)
	return lost
}
