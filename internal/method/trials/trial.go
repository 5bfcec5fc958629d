package trials

import (
	"iter"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Trial is one trial summed over all streams.
type Trial struct {
	// Size of the frames.
	Size plan.Size
	// LoadPPM is the intended load in parts per million of line rate.
	LoadPPM int64
	// Duration that was asked for, and TxTime that sending really took.
	Duration, TxTime time.Duration
	// Ended is after how long the trial was ended since it could not pass any more; 0
	// when it was not. Intended is then what the load asked for until it was ended.
	Ended time.Duration
	// Saturated is the share of the frames that arrived shortly before Ended, in parts
	// per million; 0 when it is not known.
	Saturated int64
	// Intended frames, and those that were Sent.
	Intended, Sent uint64
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
	// CardUnsent are the frames that the tester counted as sent and its cards did not send:
	// they are not among those Sent.
	CardUnsent uint64
	// Flooded frames arrived at ports that only watch their streams.
	Flooded uint64
	// Elsewhere are the received frames that came by a further path.
	Elsewhere uint64
	// Unreachable are the lost frames that were sent while the device had no route for
	// them: they say nothing about the tester.
	Unreachable uint64
	// Silent are the ports that should have received and received nothing.
	Silent []string
	// Notes of the engine.
	Notes []traffic.Note
	// Stamps contain the times of the events of the trial, in the order of the actions.
	Stamps []Stamp

	// tolerance is the maximum by which sending may exceed Duration. Up to exact, the
	// offered load counts as the intended one.
	tolerance, exact time.Duration
	// inStalls counts the lost frames that were lost when the tester was late; nil when that
	// is not known.
	inStalls *uint64
	// Allowed are the loss ratios that a search allows, in parts per million; none where
	// the loss itself is what the trial is for.
	Allowed []int64
	// lostAt counts the lost frames by the name of the port that should have received
	// them.
	lostAt      map[string]uint64
	Measurement traffic.Measurement
	// latency and groups are kept when the counters of the receivers are not.
	latency *Latency
	groups  *v1alpha1.MulticastSummary
	classes *v1alpha1.ClassesSummary
	flows   []v1alpha1.FlowSummary
	byPort  []v1alpha1.PortLatency
	Streams []plan.Stream
	Ports   []plan.Port
}

// NewTrial sums up what the streams counted. Every stream is balanced for
// itself, so that a surplus of one never hides the loss of another.
func NewTrial(p plan.Plan, size plan.Size, ppm int64, d time.Duration, m traffic.Measurement) *Trial {
	streams := p.At(size).Streams()
	t := &Trial{
		Size: size, LoadPPM: ppm, Duration: d, TxTime: m.TxTime, Notes: m.Notes, tolerance: LateTolerance(d), exact: LateTolerance(d),
		lostAt: map[string]uint64{}, Measurement: m, Streams: streams, Ports: p.Ports,
	}
	t.takeBackUnsent()
	m = t.Measurement
	heard, expected := make([]bool, len(p.Ports)), make([]bool, len(p.Ports))
	for _, s := range streams {
		tx := m.Tx[s.ID]
		t.Intended += tx.Intended
		t.Sent += tx.Sent
		for _, port := range s.Rx {
			rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: p.Ports[port].Name}]
			t.Expected += tx.Sent
			arrived := t.Arrived(s, port)
			t.Received += arrived
			t.Elsewhere += arrived - rx.Received
			t.Duplicate += rx.Duplicate
			t.Reordered += rx.Reordered
			t.OutOfSequence += rx.OutOfSequence
			t.Order.Add(rx.Order)
			t.Late += rx.Late
			if lost := tx.Sent - min(tx.Sent, arrived); lost > 0 {
				t.Lost += lost
				t.lostAt[p.Ports[port].Name] += lost
			}
			t.Excess += rx.Received - min(tx.Sent, rx.Received)
			heard[port], expected[port] = heard[port] || rx.Received > 0, true
		}
	}
	for _, s := range p.Streams {
		for _, port := range s.Watch {
			rx := t.At(s, port)
			t.Flooded += rx.Received + rx.Duplicate
		}
	}
	for _, d := range m.Damaged {
		t.Damaged.Add(d)
	}
	for _, n := range m.Stale {
		t.Stale += n
	}
	for i, port := range p.Ports {
		if expected[i] && !heard[i] {
			t.Silent = append(t.Silent, port.Name)
		}
	}
	return t
}

// Captured are the frames of the trial that the engine was asked to keep.
func (t *Trial) Captured() []traffic.CapturedFrame { return t.Measurement.Captured }

// OfferedRate is the exact rate in frames/s at which frames left the tester.
func (t *Trial) OfferedRate() *big.Rat {
	// The last frame leaves before the end of the time that it stands for.
	took := max(t.Duration, t.TxTime)
	if t.Ended > 0 {
		took = t.TxTime
	}
	if took <= 0 {
		return new(big.Rat)
	}
	sent := new(big.Int).Mul(new(big.Int).SetUint64(t.Sent), big.NewInt(int64(time.Second)))
	return new(big.Rat).SetFrac(sent, big.NewInt(int64(took)))
}

// Readable is a duration without the digits that say nothing to a person: to the
// microsecond below 10 ms, and to the millisecond from there on.
func Readable(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// Multicast sums up the trial by groups; nil when no stream is sent to one.
func (t *Trial) Multicast() *v1alpha1.MulticastSummary {
	if t.latency != nil {
		return t.groups
	}
	return t.multicast()
}

// Classes sums up the trial by traffic classes; nil when all streams are of one.
func (t *Trial) Classes() *v1alpha1.ClassesSummary {
	if t.latency != nil {
		return t.classes
	}
	return t.byClass()
}

// Flows sums up the trial by the flows of the profile; nil without flows.
func (t *Trial) Flows() []v1alpha1.FlowSummary {
	if t.latency != nil {
		return t.flows
	}
	return t.byFlow()
}

// MulticastLatency is the latency of multicast at each receiving port; nil when none was
// timed.
func (t *Trial) MulticastLatency() []v1alpha1.PortLatency {
	if t.latency != nil {
		return t.byPort
	}
	return t.multicastLatency()
}

// Condense sums up the counters of the receivers and lets go of them. Of a million
// flows they take some hundred megabytes, and a search keeps many trials.
func (t *Trial) Condense() {
	if t.latency != nil {
		return
	}
	l := t.Latency()
	t.groups, t.classes, t.flows, t.byPort = t.multicast(), t.byClass(), t.byFlow(), t.multicastLatency()
	t.latency, t.Measurement.Rx = &l, nil
}

// Forget lets go of the counters of the receivers, and of the latency in them, unless
// they were summed up.
func (t *Trial) Forget() {
	if t.latency == nil {
		t.latency, t.Measurement.Rx = &Latency{SumNs: new(big.Int), JitterSumNs: new(big.Int)}, nil
	}
}

// received are the counters of all streams at each of their receivers.
func (t *Trial) received() iter.Seq[traffic.RxCount] {
	return func(yield func(traffic.RxCount) bool) {
		for _, s := range t.Streams {
			for _, port := range s.Rx {
				if !yield(t.At(s, port)) {
					return
				}
			}
		}
	}
}

// At returns the counts of a stream at a port, given by its index.
func (t *Trial) At(s plan.Stream, port int) traffic.RxCount {
	return t.Measurement.Rx[traffic.RxKey{Stream: s.ID, Port: t.Ports[port].Name}]
}

// Arrived returns the number of frames of a stream that arrived at a receiver, or in its
// place at a port with a further path. A frame that came to both counts once.
func (t *Trial) Arrived(s plan.Stream, port int) uint64 {
	here := t.At(s, port).Received
	arrived := here
	for _, further := range s.Further {
		arrived += t.At(s, further).Received
	}
	return min(arrived, max(here, t.Measurement.Tx[s.ID].Sent))
}

// Latency sums up the latency of all streams at their receivers.
func (t *Trial) Latency() Latency {
	if t.latency != nil {
		return *t.latency
	}
	s := newLatencySum()
	for rx := range t.received() {
		s.add(rx.Latency)
	}
	return s.sum()
}
