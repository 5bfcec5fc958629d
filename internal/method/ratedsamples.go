package method

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// noBracket is that of a trial that is no part of a search.
var noBracket search.Bracket

// forwardedShare is the part of the frames, one in so many, by which the receive rate of
// an interval may differ from all or none.
const forwardedShare = 1000

// flyingShare is the part of the frames of an interval, one in so many, that may be in
// flight at its end at most.
const flyingShare = 10

// tally is what was sent between two samples, and what of it was received then or later.
// Flying frames may have been in flight at the end.
type tally struct {
	from, to               time.Duration
	sent, received, flying uint64
}

// intervals of a trial, in their order.
type intervals []tally

// rated are the intervals between samples. A frame that was in flight at a sample arrives
// before a later one, so that frames are lost by then that are missing in all later samples,
// too. Before frames are lost in a row the last of them cannot be told from those: as many
// are taken for flying as are sent in the highest latency of the trial.
func rated(samples []traffic.Sample, highest time.Duration) intervals {
	lost := make([]uint64, len(samples))
	settled := uint64(math.MaxUint64)
	for i, s := range slices.Backward(samples) {
		settled = min(settled, s.Sent-min(s.Sent, s.Received))
		lost[i] = settled
	}
	var out intervals
	var last traffic.Sample
	var before uint64
	for i, s := range samples {
		if s.At > last.At {
			sent := s.Sent - min(s.Sent, last.Sent)
			flying := min(sent/flyingShare, uint64(float64(sent)*float64(highest)/float64(s.At-last.At)))
			out = append(out, tally{last.At, s.At, sent, sent - min(sent, lost[i]-before), flying})
			last, before = s, lost[i]
		}
	}
	return out
}

// highest is the highest latency of the trial, 0 where it is not measured.
func (t *Trial) highest() time.Duration { return time.Duration(t.Latency().MaxNs) }

// whollyForwarded says that all frames were received, and notForwarded that none was.
func whollyForwarded(i tally) bool { return i.received+i.tolerance() >= i.sent }
func notForwarded(i tally) bool    { return i.received <= i.tolerance() }

// tolerance is how many frames say nothing about an interval.
func (i tally) tolerance() uint64 { return max(i.sent/forwardedShare, i.flying) }

// between are the intervals of a part of the trial: those that end after its beginning, and
// not after its end.
func (all intervals) between(from, to time.Duration) intervals {
	var out intervals
	for _, i := range all {
		if i.to > from && i.to <= to {
			out = append(out, i)
		}
	}
	return out
}

// ending is when an event of the trial ended.
type ending struct {
	// took is how long it took, and within how much shorter the true time may be.
	took, within time.Duration
	// seen says that it ended, and sampled that there were samples to see it in.
	seen, sampled bool
}

// until is how long after the beginning of a part of the trial it takes until done holds
// for all further intervals. It is not seen when done does not hold in the last one.
func (all intervals) until(from, to time.Duration, done func(tally) bool) ending {
	part := all.between(from, to)
	if len(part) == 0 {
		return ending{}
	}
	e := ending{sampled: true, seen: done(part[len(part)-1])}
	for _, i := range slices.Backward(part) {
		if !e.seen || !done(i) {
			e.took, e.within = i.to-from, i.to-max(from, i.from)
			break
		}
	}
	return e
}

// missing is how long the frames of a part that were not received take to send; still is
// the same for those that were.
func (all intervals) missing(from, to time.Duration) time.Duration {
	return all.share(from, to, func(i tally) uint64 { return i.sent - min(i.sent, i.received) })
}

func (all intervals) still(from, to time.Duration) time.Duration {
	return all.share(from, to, func(i tally) uint64 { return i.received })
}

func (all intervals) share(from, to time.Duration, of func(tally) uint64) time.Duration {
	var n, sent, length float64
	for _, i := range all.between(from, to) {
		n, sent, length = n+float64(of(i)), sent+float64(i.sent), length+float64(i.to-i.from)
	}
	if sent == 0 {
		return 0
	}
	return time.Duration(n / sent * length)
}

// unreachable are the frames of a part that were missing since the device had no route for
// them: until the first interval after the announcement in which none is missing.
func (all intervals) unreachable(from, announced, to time.Duration) (n uint64) {
	for _, i := range all.between(from, to) {
		if i.from >= announced && i.received == i.sent {
			return n
		}
		n += i.sent - i.received
	}
	return n
}

// lowest is the lowest share of the frames of an interval that was received, in parts per
// million.
func (all intervals) lowest() int64 {
	low := v1alpha1.PPM
	for _, i := range all {
		if i.sent > 0 {
			low = min(low, int64(float64(i.received)/float64(i.sent)*float64(v1alpha1.PPM)))
		}
	}
	return low
}

// eventTimes are the times of events of one kind.
type eventTimes struct {
	times, derived spread
	// within is how much shorter any true time may be.
	within time.Duration
	// unseen events did not end in time, and unsampled ones had no sample.
	unseen, unsampled int32
}

// add adds an event, with its time by frames.
func (e *eventTimes) add(end ending, derived time.Duration) {
	switch {
	case !end.sampled:
		e.unsampled++
	case !end.seen:
		e.unseen++
	default:
		e.times.add(int64(end.took))
		e.derived.add(int64(derived))
		e.within = max(e.within, end.within)
	}
}

// unsampledEvents says how many events of a row had no sample; empty when all had.
func unsampledEvents(all ...eventTimes) string {
	n := int32(0)
	for _, e := range all {
		n += e.unsampled
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the events have no time, as counters were not read before the next event: other work on the tester's machine held it up", traffic.Grouped(n))
}

func (e *eventTimes) longest() int64 { return e.times.max }

func (e *eventTimes) summary() v1alpha1.EventTimes {
	s := v1alpha1.EventTimes{Unseen: e.unseen}
	if e.times.count > 0 {
		s.AvgNs, s.MinNs, s.MaxNs, s.LossDerivedAvgNs = e.times.average(), e.times.min, e.times.max, e.derived.average()
	}
	return s
}

// stamps are the events of a kind.
func (t *Trial) stamps(kind EventKind) []Stamp {
	return slices.DeleteFunc(slices.Clone(t.Stamps), func(s Stamp) bool { return s.Kind != kind })
}

// stamp is the n-th event of a kind, counting from 0; empty when there is none.
func (t *Trial) stamp(kind EventKind, n int) Stamp {
	if all := t.stamps(kind); n < len(all) {
		return all[n]
	}
	return Stamp{}
}
