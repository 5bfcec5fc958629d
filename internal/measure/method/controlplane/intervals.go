package controlplane

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// noBracket is the bracket of a trial that is not part of a search.
var noBracket search.Bracket

// forwardedShare is the part of the frames, one in so many, by which the receive rate of
// an interval may differ from all or none.
const forwardedShare = 1000

// flyingShare is the part of the frames of an interval, one in so many, that may be in
// flight at its end at most, where the engine does not report gaps.
const flyingShare = 10

// reading contains the counters of some streams at a moment of a trial.
type reading struct {
	at             time.Duration
	sent, received uint64
	// passed counts the frames of each stream up to the last that arrived. Gaps reports
	// whether the engine knows it.
	passed uint64
	gaps   bool
}

// readings contains the counters of all streams in each sample.
func readings(samples []traffic.Sample, gaps bool) []reading {
	all := make([]reading, 0, len(samples))
	for _, s := range samples {
		r := reading{at: s.At, sent: s.Sent, received: s.Received}
		if s.Ports != nil {
			r.sent, r.received, r.gaps = 0, 0, gaps
			for _, tx := range s.Ports.Tx {
				r.sent += tx.Sent
			}
			for _, rx := range s.Ports.Rx {
				r.received += rx.Received
				r.passed += rx.Received + rx.Lost
			}
		}
		all = append(all, r)
	}
	return all
}

// lost counts the frames that are missing although later ones of their stream arrived.
// What was sent is read first, so that frames may have passed that it does not count.
func (r reading) lost() uint64 { return r.passed - min(r.received, r.passed) }

// pending counts the frames that were sent after the last of their stream that arrived: they
// are in flight, or nothing of their stream is forwarded.
func (r reading) pending() uint64 { return r.sent - min(r.passed, r.sent) }

// tally counts the frames that were sent between two samples, and how many of these were
// received then or later.
type tally struct {
	from, to       time.Duration
	sent, received uint64
	// flying is the highest number of frames that may have been in flight at the end.
	flying uint64
	// overtaken frames are missing although later ones of their stream arrived in the
	// interval. Pending frames were sent, at its end, after the last of their stream that
	// had arrived. Both are known where gaps is set.
	overtaken, pending uint64
	gaps               bool
}

// intervals of a trial, in their order.
type intervals []tally

// rated returns the intervals between samples. A frame that was in flight at a sample
// arrives before a later one, so that frames are lost by then that are missing in all later
// samples, too.
func rated(samples []reading, flight inFlight) intervals {
	type known struct{ lost, overtaken uint64 }
	settled := make([]known, len(samples))
	k := known{math.MaxUint64, math.MaxUint64}
	for i, s := range slices.Backward(samples) {
		k = known{min(k.lost, s.sent-min(s.sent, s.received)), min(k.overtaken, s.lost())}
		settled[i] = k
		if s.gaps { // Frames that were sent and arrived since sent was read hide no lost one.
			settled[i].lost = max(k.lost, k.overtaken)
		}
	}
	var out intervals
	var last reading
	var before known
	for i, s := range samples {
		if s.at > last.at {
			sent, now := s.sent-min(s.sent, last.sent), settled[i]
			one := tally{from: last.at, to: s.at, sent: sent, received: sent - min(sent, now.lost-before.lost), flying: flight.most(sent, s.at-last.at)}
			if one.gaps = s.gaps && flight.known; one.gaps {
				one.overtaken, one.pending = now.overtaken-before.overtaken, s.pending()
			} else {
				one.flying = min(one.flying, sent/flyingShare)
			}
			out = append(out, one)
			last, before = s, now
		}
	}
	return out
}

// inFlight bounds the number of frames in flight by the latency of a trial.
type inFlight struct {
	// longer counts, for each latency in nanoseconds, the frames that took longer.
	longer []latencyCount
	// known reports whether the latency of all frames was measured.
	known bool
}

type latencyCount struct{ latency, frames uint64 }

// flightOf returns the bound for the frames of a trial.
func flightOf(t *trials.Trial) inFlight {
	l := t.Counters.Latency()
	f := inFlight{known: l.Count > 0 && l.Count >= t.Received}
	longer := uint64(0)
	for bucket, frames := range slices.Backward(l.Buckets) {
		if frames == 0 {
			continue
		}
		_, high := traffic.BucketBounds(uint32(bucket))
		f.longer = append(f.longer, latencyCount{min(high, l.MaxNs), longer})
		longer += frames
	}
	return f
}

// most returns the highest number of frames in flight at a moment, of the frames that were
// sent in a time. For each latency, at most the frames that are sent in that latency can be in
// flight, and the frames of the trial that took longer.
func (f inFlight) most(sent uint64, in time.Duration) uint64 {
	if len(f.longer) == 0 {
		return 0
	}
	most := uint64(math.MaxUint64)
	for _, l := range f.longer {
		most = min(most, uint64(math.Ceil(float64(sent)*float64(l.latency)/float64(in)))+l.frames)
	}
	return most
}

// judgment distinguishes the intervals after the end of an event from those before it.
type judgment struct {
	// against counts the frames of an interval that speak against the end. Allowed of
	// them were in flight.
	against func(tally) (frames, allowed uint64)
	// once allows for frames in flight in one interval only.
	once bool
}

var (
	// whollyForwarded judges whether all frames are received.
	whollyForwarded = judgment{against: func(i tally) (uint64, uint64) {
		if i.gaps {
			return max(i.overtaken, i.pending-min(i.pending, i.flying)), 0
		}
		return i.missing(), i.flying
	}}
	// notForwarded judges whether no frame is received. Those that were in flight at the
	// end arrive in the next interval.
	notForwarded = judgment{against: func(i tally) (uint64, uint64) { return i.received, i.flying }, once: true}
)

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

// ending describes the end of an event of the trial.
type ending struct {
	// took is the duration of the event. The true duration may be shorter by up to within.
	took, within time.Duration
	// seen reports whether it ended, and sampled that there were samples to see it in.
	seen, sampled bool
	// over is the longest time for which it seemed to be over before.
	over time.Duration
}

// until returns the time from the beginning of a part of the trial after which the event is
// over in all further intervals. It is not seen if it is not over in the last one, and not sampled
// if there are no samples at the end, or if it is not over in a last interval that is much longer than
// the interval at which samples were asked for. Frames in flight at the end of the part are allowed for
// once, and not in every interval.
func (all intervals) until(from, to, interval time.Duration, over judgment) ending {
	part := slices.Clone(all.between(from, to))
	last := len(part) - 1
	if last < 0 {
		return ending{}
	}
	// The end of the part lies in the last interval, or after it.
	unread := max(to-part[last].to, part[last].to-max(from, part[last].from))
	if unread > unsampledLengths*all.usual() {
		return ending{}
	}
	// A frame that is in flight at a sample arrives before a later one. The counters of the
	// last sample may have been read at two moments.
	for i := last; i > 0; i-- {
		part[i-1].pending = min(part[i-1].pending, part[i].pending)
	}
	if last > 0 {
		part[last].pending = part[last-1].pending
	}
	e := ending{sampled: true, seen: true}
	_, flying := over.against(part[last])
	for n, i := range slices.Backward(part) {
		frames, allowed := over.against(i)
		switch {
		case frames <= i.sent/forwardedShare:
			continue
		case over.once && frames <= min(flying, allowed):
			flying = 0
			continue
		case !over.once && frames <= flying:
			flying -= frames
			continue
		}
		e.took, e.within, e.seen = i.to-from, i.to-max(from, i.from), n < last
		// Here pending frames count that arrive later: their streams are dead.
		e.over = all.between(from, to)[:n].longest(func(i tally) bool {
			frames, _ := over.against(i)
			return frames <= i.sent/forwardedShare && (over.once || i.missing() <= max(i.sent/forwardedShare, i.flying))
		})
		break
	}
	if !e.seen && unread > unsampledLengths*max(interval, (to-from)/fewSamples) {
		return ending{}
	}
	return e
}

// unsampledLengths is the number of usual intervals without a sample at the end of a part after which
// it is not known whether an event had ended then.
const unsampledLengths = 3

// fewSamples is the number of intervals below which a part has so few that an event which is not over in the last of
// them may have ended: a tester that is held up reads all samples late.
const fewSamples = 10

// usual returns the median length of the intervals.
func (all intervals) usual() time.Duration {
	var lengths []time.Duration
	for _, i := range all {
		lengths = append(lengths, i.to-i.from)
	}
	if len(lengths) == 0 {
		return 0
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// longest returns the longest time in a row for which all intervals have a property.
func (all intervals) longest(is func(tally) bool) time.Duration {
	var longest, now time.Duration
	for _, i := range all {
		if now += i.to - i.from; !is(i) {
			now = 0
		}
		longest = max(longest, now)
	}
	return longest
}

// missing returns the time that it takes to send the frames of a part that were not
// received, where none was missing before.
func (all intervals) missing(from, to time.Duration) time.Duration {
	return all.share(from, to, tally.missing, false)
}

// stillMissing returns the time that it takes to send the frames of a part that were not
// received, where all were missing before.
func (all intervals) stillMissing(from, to time.Duration) time.Duration {
	return all.share(from, to, tally.missing, true)
}

// stillForwarded returns the time that it takes to send the frames of a part that were
// received, where all were received before.
func (all intervals) stillForwarded(from, to time.Duration) time.Duration {
	return all.share(from, to, func(i tally) uint64 { return i.received }, true)
}

// missing returns the number of frames that were sent and never received.
func (i tally) missing() uint64 { return i.sent - min(i.sent, i.received) }

// share returns the time that it takes to send the frames of a part that a function counts.
// The part begins within its first interval. If before holds, the frames that were sent in
// this interval before the part are among the counted: they are subtracted.
func (all intervals) share(from, to time.Duration, of func(tally) uint64, before bool) time.Duration {
	var n, sent, length float64
	for _, i := range all.between(from, to) {
		counted := float64(of(i))
		if before && i.from < from {
			counted -= min(counted, float64(i.sent)*float64(from-i.from)/float64(i.to-i.from))
		}
		n, sent, length = n+counted, sent+float64(i.sent), length+float64(i.to-i.from)
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
		n += i.missing()
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

// doubtsTimes explains, for a person, that the tester paused for longer than an interval, or lost more
// of the frames of a trial itself than may be missing in an interval without an effect on the times;
// empty if it did neither.
func doubtsTimes(t *trials.Trial, interval time.Duration) string {
	if lag, port := t.Lag(); lag > interval {
		return fmt.Sprintf("the tester paused for up to %s on %s, longer than samplingInterval, which is %s: events may seem to take longer or less long", trials.Readable(lag), port, human.Duration(interval))
	}
	n := t.LostByTester()
	if n <= uint64(float64(t.Sent)*float64(interval)/float64(max(t.TxTime, 1))/forwardedShare) {
		return ""
	}
	return fmt.Sprintf("the tester may have lost %s of the %s lost frames itself, so that events may seem to take longer", traffic.Grouped(n), traffic.Grouped(t.Lost))
}

// eventTimes are the times of events of one kind.
type eventTimes struct {
	times, derived trials.Spread
	// within is the maximum by which a true time may be shorter.
	within time.Duration
	// unseen events did not end in time, and unsampled ones had no sample.
	unseen, unsampled int32
	// doubts describe the events whose two times contradict each other.
	doubts []string
}

// event describes an event whose time is known by samples and by frames.
type event struct {
	kind trials.EventKind
	ending
	// derived is the time by frames: the mean over the networks of the time in which each
	// was not as it should be.
	derived time.Duration
	// turn is the interval at which each of the networks gets a frame.
	turn     time.Duration
	networks int64
	// gradual reports whether each network changes once, so that the last of them counts
	// for its part in the mean.
	gradual bool
}

// contradiction describes, for a person, how the two times contradict each other beyond what
// sampling explains; it is empty when they do not. The mean over the networks is not longer
// than the time of the last one, and not shorter than the part of the last one.
func (e event) contradiction() string {
	unsure := 2*e.within + 2*e.turn
	switch {
	case !e.sampled || !e.seen:
		return ""
	case e.derived > e.took+unsure:
	case e.gradual && e.over > unsure:
		return fmt.Sprintf("the event %s took %s by the samples, but for %s before it seemed to be over, and each of %s networks gets a frame every %s: frames were lost or forwarded again afterwards, and by the frames the networks took %s on average",
			e.kind, trials.TimeText(int64(e.took)), trials.TimeText(int64(e.over)), traffic.Grouped(e.networks), trials.TimeText(int64(e.turn)), trials.TimeText(int64(e.derived)))
	case e.gradual && e.networks > 0 && e.derived+unsure < (e.took-unsure)/time.Duration(e.networks):
	default:
		return ""
	}
	return fmt.Sprintf("the two times of the event %s contradict each other: %s by the samples, and %s by the frames of %s networks, which sampling does not explain",
		e.kind, trials.TimeText(int64(e.took)), trials.TimeText(int64(e.derived)), traffic.Grouped(e.networks))
}

// add adds an event of a trial.
func (e *eventTimes) add(t *trials.Trial, one event) {
	if doubt := one.contradiction(); doubt != "" {
		e.doubts = append(e.doubts, doubt)
	}
	switch {
	case !one.sampled:
		e.unsampled++
		t.Figure(string(one.kind)+"Unsampled", 1)
	case !one.seen:
		e.unseen++
		t.Figure(string(one.kind)+"Unseen", 1)
	default:
		t.Figure(string(one.kind)+"Ns", int64(one.took))
		t.Figure(string(one.kind)+"LossDerivedNs", int64(one.derived))
		t.Figure(string(one.kind)+"WithinNs", int64(one.within))
		e.times.Add(int64(one.took))
		e.derived.Add(int64(one.derived))
		e.within = max(e.within, one.within)
	}
}

// contradictions describes the events whose two times contradict each other; it is empty when
// there are none.
func contradictions(all ...eventTimes) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, e.doubts...)
	}
	return strings.Join(texts, "; ")
}

// unsampledEvents describes how many events of a row had no sample; empty if all had.
func unsampledEvents(all ...eventTimes) string {
	n := int32(0)
	for _, e := range all {
		n += e.unsampled
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the events have no time, as counters were not read before the next event: reading them took long, or other work on the tester's machine held it up; more time between the events helps", traffic.Grouped(n))
}

func (e *eventTimes) longest() int64 { return e.times.Max }

func (e *eventTimes) summary() v1alpha1.EventTimes {
	s := v1alpha1.EventTimes{Unseen: e.unseen}
	if e.times.Count > 0 {
		s.AvgNs, s.MinNs, s.MaxNs, s.LossDerivedAvgNs = e.times.Average(), e.times.Min, e.times.Max, e.derived.Average()
	}
	return s
}
