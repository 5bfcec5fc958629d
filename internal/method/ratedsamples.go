package method

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// noBracket is that of a trial that is no part of a search.
var noBracket search.Bracket

// forwardedShare is the part of the frames, one in so many, by which the receive rate of
// an interval may differ from all or none: frames in flight are in one sample and not in
// the other.
const forwardedShare = 1000

// tally is what was sent and received between two samples.
type tally struct {
	from, to       time.Duration
	sent, received uint64
}

// intervals of a trial, in their order.
type intervals []tally

// rated are the intervals between samples.
func rated(samples []traffic.Sample) intervals {
	var out intervals
	var last traffic.Sample
	for _, s := range samples {
		if s.At > last.At {
			out = append(out, tally{last.At, s.At, s.Sent - min(s.Sent, last.Sent), s.Received - min(s.Received, last.Received)})
			last = s
		}
	}
	return out
}

// whollyForwarded says that all frames were received, and notForwarded that none was.
func whollyForwarded(i tally) bool { return i.received+i.sent/forwardedShare >= i.sent }
func notForwarded(i tally) bool    { return i.received <= i.sent/forwardedShare }

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

// until is how long after the beginning of a part of the trial it takes until done holds
// for all further intervals; false when it does not in the last one.
func (all intervals) until(from, to time.Duration, done func(tally) bool) (time.Duration, bool) {
	part := all.between(from, to)
	if len(part) == 0 || !done(part[len(part)-1]) {
		return 0, false
	}
	for i := len(part) - 1; i >= 0; i-- {
		if !done(part[i]) {
			return part[i].to - from, true
		}
	}
	return 0, true
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
	unseen         int32
}

// add adds an event: how long it took, if its end was seen, and the time by frames.
func (e *eventTimes) add(took time.Duration, seen bool, derived time.Duration) {
	if !seen {
		e.unseen++
		return
	}
	e.times.add(int64(took))
	e.derived.add(int64(derived))
}

func (e *eventTimes) longest() int64 { return e.times.max }

func (e *eventTimes) summary() v1alpha1.EventTimes {
	s := v1alpha1.EventTimes{Unseen: e.unseen}
	if e.times.count > 0 {
		s.AvgNs, s.MinNs, s.MaxNs, s.LossDerivedAvgNs = e.times.average(), e.times.min, e.times.max, e.derived.average()
	}
	return s
}

// stamp is the n-th event of a kind, counting from 0.
func (t *Trial) stamp(kind EventKind, n int) Stamp {
	for _, s := range t.Stamps {
		if s.Kind == kind {
			if n == 0 {
				return s
			}
			n--
		}
	}
	return Stamp{}
}
