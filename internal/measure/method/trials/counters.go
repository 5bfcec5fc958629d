package trials

import (
	"iter"
	"maps"
	"math/big"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/traffic"
)

// Counters are the counters of a trial by stream and port. They are summed up by groups,
// classes, flows and ports.
type Counters struct {
	Measurement traffic.Measurement
	Streams     []plan.Stream
	Ports       []plan.Port
	// took is the time that sending took, at least the intended one.
	took time.Duration
	// kept are the sums when the counters of the receivers were let go of; nil while they
	// are kept.
	kept *sums
}

// sums are the counters of a trial summed up.
type sums struct {
	latency  Latency
	groups   *v1alpha1.MulticastSummary
	classes  *v1alpha1.ClassesSummary
	flows    []v1alpha1.FlowSummary
	byPort   []v1alpha1.PortLatency
	parts    []v1alpha1.TrialPart
	perGroup []v1alpha1.TrialFigure
}

// perSecond is a number of frames over the time that sending took, in frames/s.
func (c *Counters) perSecond(frames int64) int64 { return PerSecond(frames, c.took) }

// received are the counters of all streams at each of their receivers, and at the ports with further
// paths.
func (c *Counters) received() iter.Seq[traffic.RxCount] {
	return func(yield func(traffic.RxCount) bool) {
		for _, s := range c.Streams {
			for _, port := range s.Arrivals() {
				if !yield(c.At(s, port)) {
					return
				}
			}
		}
	}
}

// At returns the counts of a stream at a port, given by its index.
func (c *Counters) At(s plan.Stream, port int) traffic.RxCount {
	return c.Measurement.Rx[traffic.RxKey{Stream: s.ID, Port: c.Ports[port].Name}]
}

// Arrived returns the number of frames of a stream that arrived at a receiver, or in its
// place at a port with a further path. A frame that came to both counts once.
func (c *Counters) Arrived(s plan.Stream, port int) uint64 {
	here := c.At(s, port).Received
	arrived := here
	for _, further := range s.Further {
		arrived += c.At(s, further).Received
	}
	return min(arrived, max(here, c.Measurement.Tx[s.ID].Sent))
}

// takeBackUnsent removes frames that the tester's cards did not send from those that count
// as sent, and returns their number. A card does not report the streams of these frames, so lost frames of the
// port's streams are taken, in the order of the streams. The sums of the trial are exact.
func (c *Counters) takeBackUnsent() (unsent uint64) {
	if len(c.Measurement.Unsent) == 0 {
		return 0
	}
	left := maps.Clone(c.Measurement.Unsent)
	c.Measurement.Tx = maps.Clone(c.Measurement.Tx)
	for _, s := range c.Streams {
		port := c.Ports[s.Tx].Name
		tx := c.Measurement.Tx[s.ID]
		lost := tx.Sent
		for _, rx := range s.Rx { // a frame that was not sent is missing at each receiver
			lost = min(lost, tx.Sent-min(tx.Sent, c.Arrived(s, rx)))
		}
		if n := min(lost, left[port]); n > 0 {
			tx.Sent -= n
			left[port] -= n
			unsent += n
			c.Measurement.Tx[s.ID] = tx
		}
	}
	return unsent
}

// Condense sums up the counters of the receivers and lets go of them. Of a million
// flows they take some hundred megabytes, and a search keeps many trials.
func (c *Counters) Condense() {
	if c.kept != nil {
		return
	}
	c.kept = &sums{latency: c.Latency(), groups: c.multicast(), classes: c.byClass(), flows: c.byFlow(), byPort: c.multicastLatency(), parts: c.parts(), perGroup: c.groupFigures()}
	c.Measurement.Rx = nil
}

// Forget lets go of the counters of the receivers, and of the latency in them, unless
// they were summed up.
func (c *Counters) Forget() {
	if c.kept == nil {
		c.kept, c.Measurement.Rx = &sums{latency: Latency{SumNs: new(big.Int), JitterSumNs: new(big.Int)}}, nil
	}
}

// latencyRecord returns the sums of the latency of all frames; nil if none was timed.
func (c *Counters) latencyRecord() *v1alpha1.LatencyRecord {
	var l Latency
	for rx := range c.received() {
		l.Add(rx.Latency)
	}
	return l.Compact()
}

// Compact returns the sums of a latency; nil if no frame was timed, or a sum exceeds 63 bits.
func (l Latency) Compact() *v1alpha1.LatencyRecord {
	if l.Count == 0 || !l.SumNs.IsInt64() || !l.JitterSumNs.IsInt64() {
		return nil
	}
	return &v1alpha1.LatencyRecord{
		Count: int64(l.Count), SumNs: l.SumNs.Int64(), MinNs: int64(l.MinNs), MaxNs: int64(l.MaxNs),
		JitterCount: int64(l.JitterCount), JitterSumNs: l.JitterSumNs.Int64(), JitterMaxNs: int64(l.JitterMaxNs),
		Buckets: record.Buckets(l.Buckets),
	}
}

// Summary returns a latency in whole nanoseconds, of so many received frames; nil if none was
// timed. Jitter that the engine did not measure is absent.
func (l Latency) Summary(received uint64) *v1alpha1.LatencySummary {
	if l.Count == 0 {
		return nil
	}
	s := &v1alpha1.LatencySummary{
		MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs),
	}
	if l.Count < received {
		s.TimedFrames = new(int64(l.Count))
	}
	if l.JitterCount > 0 {
		s.JitterAvgNs, s.JitterMaxNs = new(l.JitterAverage()), new(int64(l.JitterMaxNs))
	}
	s.P50Ns, s.P90Ns, s.P99Ns, s.P999Ns = l.Percentile(500), l.Percentile(900), l.Percentile(990), l.Percentile(999)
	return s
}

// parts returns the counts of flows or classes, and the latency of multicast by port.
func (c *Counters) parts() (all []v1alpha1.TrialPart) {
	if c.kept != nil {
		return c.kept.parts
	}
	of := plan.Stream.Class
	if len(c.Streams) > 0 && c.Streams[0].Flow != "" {
		of = func(s plan.Stream) string { return s.Flow }
	}
	order, by := c.sumsBy(of)
	if c.byClass() != nil || c.byFlow() != nil {
		for _, name := range order {
			sum := by[name]
			all = append(all, v1alpha1.TrialPart{Name: name, Sent: sum.Sent, Received: sum.Received, Lost: sum.Lost, Latency: sum.latency.sum().Compact()})
		}
	}
	ports := make([]Latency, len(c.Ports))
	for _, s := range c.Streams {
		for _, port := range s.Rx {
			if s.Headers.DstIP.IsMulticast() {
				ports[port].Add(c.At(s, port).Latency)
			}
		}
	}
	for i := range ports {
		if l := ports[i].Compact(); l != nil && len(all) < record.MaxParts {
			all = append(all, v1alpha1.TrialPart{Name: c.Ports[i].Name, Received: l.Count, Latency: l})
		}
	}
	return all
}

// groupFigures returns the frames that multicast groups received; nil without groups.
func (c *Counters) groupFigures() []v1alpha1.TrialFigure {
	if c.kept != nil {
		return c.kept.perGroup
	}
	received := map[netip.Addr]int64{}
	for _, s := range c.Streams {
		for _, port := range s.Rx {
			if group := s.Headers.DstIP; group.IsMulticast() {
				received[group] += int64(c.At(s, port).Received)
			}
		}
	}
	var all record.Figures
	for _, n := range received {
		all.Add("groupFrames", n)
	}
	return all
}
