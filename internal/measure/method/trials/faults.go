package trials

import (
	"math"
	"slices"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// faults are the ways in which the tester itself may have lost frames of a trial.
type faults struct {
	// allowed contains the loss ratios that a search allows, in parts per million; empty if the
	// trial measures the loss itself.
	allowed []int64
	// lostAt counts the lost frames by the name of the port that should have received them, or
	// may have by a further path.
	lostAt map[string]uint64
	// dropped and damaged count the received frames that the ports of the tester dropped, and that
	// arrived damaged at its cards, by the name of the port.
	dropped, damaged map[string]uint64
	// inStalls counts the lost frames that were lost when the tester was late; nil when that
	// is not known.
	inStalls *uint64
	// each reports whether every lost frame matters, and not only their number: the trial
	// measures when frames were lost.
	each bool
	// receivers is the number of receivers of a sent frame on average, at least 1.
	receivers float64
	// pacing contains by how much each port fell behind its schedule.
	pacing map[string]traffic.Pacing
}

// droppedShare is the share of the lost frames, one in so many, that the tester's own port
// must have dropped for the loss to be attributed to the tester. It applies where the loss
// is the result of a trial. Fewer drops do not explain the loss.
const droppedShare = 10

// allowedBy are the loss ratios that the search of a step allows, in parts per million;
// none for a step that searches nothing.
func allowedBy(step plan.Step) []int64 {
	if step.Search.ResolutionPPM == 0 {
		return nil
	}
	allowed := []int64{step.LossRatioPPM}
	for _, g := range step.Goals {
		allowed = append(allowed, g.LossRatioPPM)
	}
	return allowed
}

// decides reports whether a search finds another verdict without n of the lost frames.
func (f *faults) decides(c Counts, n uint64) bool {
	return slices.ContainsFunc(f.allowed, func(ratio int64) bool {
		return search.Exceeds(c.Lost, c.Expected, ratio) && !search.Exceeds(c.Lost-min(n, c.Lost), c.Expected, ratio)
	})
}

// allows reports whether nothing was lost, or no more than one of the loss ratios of a search allows.
func (f *faults) allows(c Counts) bool {
	return c.Lost == 0 || slices.ContainsFunc(f.allowed, func(ratio int64) bool {
		return ratio > 0 && !search.Exceeds(c.Lost, c.Expected, ratio)
	})
}

// explaining returns the counts of ports that can contain lost frames and matter. They matter
// together with what else the tester may have lost.
func (f *faults) explaining(c Counts, counts map[string]uint64) map[string]uint64 {
	matter := map[string]uint64{}
	for port, n := range counts {
		if n > 0 && f.lostAt[port] > 0 {
			matter[port] = n
		}
	}
	if len(matter) == 0 || f.each {
		return matter
	}
	explained := f.doubtful(c)
	if f.allowed != nil && !f.decides(c, explained) || f.allowed == nil && explained < c.Lost/droppedShare {
		return nil
	}
	return matter
}

// HarmlessBurst is the number of frames in a row that a port may send to catch up without
// causing a loss: an input queue holds that many. Linux takes as many from a NIC at once,
// and the smallest rings hold several times more.
const HarmlessBurst = 64

// stalled reports whether the tester fell behind its schedule, and that frames were lost that may
// be due to the bursts by which it caught up. Of a loss of more frames than it sent in such bursts
// the device lost some of a constant load: more than a search allows, or any at all. If each loss
// matters, one late burst is enough. In a long trial only those bursts count that it sent when
// frames were lost.
func (f *faults) stalled(c Counts) bool {
	caughtUp := f.caughtUp()
	switch {
	case f.each:
		return c.Lost > 0 && caughtUp > 0
	case f.allowed != nil:
		return caughtUp > 0 && f.decides(c, f.doubtful(c))
	}
	return 0 < c.Lost && c.Lost <= caughtUp
}

// doubtful returns how many of the lost frames the tester may have lost or caused to be lost.
func (f *faults) doubtful(c Counts) uint64 { return min(f.caughtUp()+f.own(c), c.Lost) }

// own returns how many of the lost frames the tester may have lost: it dropped them, or they arrived
// damaged at its cards.
func (f *faults) own(c Counts) (n uint64) {
	for port, lost := range f.lostAt {
		n += min(lost, f.dropped[port]+f.damaged[port])
	}
	return min(n, c.Lost)
}

// caughtUp returns the number of frames that the tester sent in bursts that can cause a
// loss, limited to the frames that were lost at that time. As lost frames do, a frame counts once
// for each of its receivers.
func (f *faults) caughtUp() (n uint64) {
	for _, p := range f.pacing {
		if p.MaxBurst > HarmlessBurst {
			n += p.CaughtUp
		}
	}
	n = uint64(math.Ceil(float64(n) * max(1, f.receivers)))
	if f.inStalls != nil {
		n = min(n, *f.inStalls)
	}
	return n
}
