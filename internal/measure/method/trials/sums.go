package trials

import (
	"maps"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Latency sums up the latency of all streams at their receivers.
func (c *Counters) Latency() Latency {
	if c.kept != nil {
		return c.kept.latency
	}
	s := newLatencySum()
	for rx := range c.received() {
		s.add(rx.Latency)
	}
	return s.sum()
}

// Multicast sums up the trial by groups; nil when no stream is sent to one.
func (c *Counters) Multicast() *v1alpha1.MulticastSummary {
	if c.kept != nil {
		return c.kept.groups
	}
	return c.multicast()
}

// Classes sums up the trial by traffic classes; nil when all streams are of one.
func (c *Counters) Classes() *v1alpha1.ClassesSummary {
	if c.kept != nil {
		return c.kept.classes
	}
	return c.byClass()
}

// Flows sums up the trial by the flows of the profile; nil without flows.
func (c *Counters) Flows() []v1alpha1.FlowSummary {
	if c.kept != nil {
		return c.kept.flows
	}
	return c.byFlow()
}

// Microflows sums up the microflows of all streams at their receivers; nil if the profile tracks
// none. Streams whose frames may arrive by a further path are left out: at each of the ports most of
// their microflows are missing.
func (c *Counters) Microflows() *v1alpha1.MicroflowsSummary {
	streams := map[traffic.RxKey]plan.Stream{}
	for _, s := range c.Streams {
		for _, port := range s.Rx {
			if s.Track == traffic.TrackCounts && len(s.Further) == 0 {
				streams[traffic.RxKey{Stream: s.ID, Port: c.Ports[port].Name}] = s
			}
		}
	}
	var all *v1alpha1.MicroflowsSummary
	for _, sum := range c.Measurement.Microflows {
		s, is := streams[sum.RxKey]
		if !is {
			continue
		}
		if all == nil {
			all = &v1alpha1.MicroflowsSummary{LeastReceived: math.MaxInt64}
		}
		all.Tracked, all.Complete = all.Tracked+int64(sum.Tracked), all.Complete+int64(sum.Complete)
		all.Lossy, all.Silent, all.Unsent = all.Lossy+int64(sum.Lossy), all.Silent+int64(sum.Silent), all.Unsent+int64(sum.Unsent)
		if sum.Tracked > 0 {
			all.LeastReceived, all.MostReceived = min(all.LeastReceived, int64(sum.Least)), max(all.MostReceived, int64(sum.Most))
		}
		for _, b := range sum.Bad {
			if len(all.Bad) < v1alpha1.MaxBadMicroflows {
				all.Bad = append(all.Bad, c.badMicroflow(s, sum.Port, b))
			}
		}
	}
	if all != nil && all.Tracked == 0 {
		all.LeastReceived = 0
	}
	return all
}

// badMicroflow returns a microflow of a stream with its addresses.
func (c *Counters) badMicroflow(s plan.Stream, port string, b traffic.BadMicroflow) v1alpha1.BadMicroflow {
	f := s.Headers.Microflow(b.Number)
	bad := v1alpha1.BadMicroflow{
		Sender: c.Ports[s.Tx].Name, Receiver: port, Source: f.SrcMAC.String(), Destination: f.DstMAC.String(),
		Sent: int64(b.Sent), Received: int64(b.Received),
	}
	if f.SrcIP.IsValid() {
		bad.Source, bad.Destination = netip.AddrPortFrom(f.SrcIP, f.SrcPort).String(), netip.AddrPortFrom(f.DstIP, f.DstPort).String()
	}
	return bad
}

// MulticastLatency is the latency of multicast at each receiving port; nil when none was
// timed.
func (c *Counters) MulticastLatency() []v1alpha1.PortLatency {
	if c.kept != nil {
		return c.kept.byPort
	}
	return c.multicastLatency()
}

// multicast sums up a trial by groups; nil without a stream to a group. Several
// streams may be sent to one group.
func (c *Counters) multicast() *v1alpha1.MulticastSummary {
	received := map[netip.Addr]uint64{}
	byPort := map[int]uint64{}
	s := &v1alpha1.MulticastSummary{}
	for _, stream := range c.Streams {
		group := stream.Headers.DstIP
		if !group.IsMulticast() {
			continue
		}
		n := received[group]
		for _, port := range stream.Rx {
			here := c.At(stream, port).Received
			n += here
			byPort[port] += here
		}
		received[group] = n
		s.Receivers = max(s.Receivers, int32(len(stream.Rx)))
	}
	if len(received) == 0 {
		return nil
	}
	s.Groups, s.MinFrames = int32(len(received)), math.MaxInt64
	for _, n := range received {
		s.MinFrames, s.MaxFrames = min(s.MinFrames, int64(n)), max(s.MaxFrames, int64(n))
	}
	s.MinFramesPerSecond, s.MaxFramesPerSecond = c.perSecond(s.MinFrames), c.perSecond(s.MaxFrames)
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		if byPort[port] == 0 && len(s.SilentReceivers) < v1alpha1.MaxSilentReceivers {
			s.SilentReceivers = append(s.SilentReceivers, c.Ports[port].Name)
		}
	}
	return s
}

// byClass sums up a trial by traffic classes; nil when all streams are of one, or of flows.
func (c *Counters) byClass() *v1alpha1.ClassesSummary {
	order, by := c.sumsBy(plan.Stream.Class)
	if len(order) < 2 || c.Streams[0].Flow != "" || c.Streams[0].InClass != "" {
		return nil
	}
	return &v1alpha1.ClassesSummary{Multicast: by[plan.ClassMulticast].ClassSummary, Unicast: by[plan.ClassUnicast].ClassSummary}
}

// summed contains the totals of some streams.
type summed struct {
	v1alpha1.ClassSummary
	latency latencySum
}

// sumsBy adds up the trial by what of says of every stream, and names those in the order of
// the streams.
func (c *Counters) sumsBy(of func(plan.Stream) string) (order []string, by map[string]*summed) {
	by = map[string]*summed{}
	for _, s := range c.Streams {
		name := of(s)
		sum := by[name]
		if sum == nil {
			sum = &summed{latency: newLatencySum()}
			by[name], order = sum, append(order, name)
		}
		sent := c.Measurement.Tx[s.ID].Sent
		sum.Sent += int64(sent)
		for _, port := range s.Rx {
			arrived := c.Arrived(s, port)
			sum.Received += int64(arrived)
			sum.Lost += int64(sent - min(sent, arrived))
			sum.latency.add(c.At(s, port).Latency)
		}
	}
	for _, sum := range by {
		sum.OfferedFramesPerSecond, sum.ReceivedFramesPerSecond = c.perSecond(sum.Sent), c.perSecond(sum.Received)
	}
	return order, by
}

// byFlow sums up a trial by the flows of the profile; nil without flows.
func (c *Counters) byFlow() []v1alpha1.FlowSummary {
	if len(c.Streams) == 0 || c.Streams[0].Flow == "" {
		return nil
	}
	var flows []v1alpha1.FlowSummary
	order, by := c.sumsBy(func(s plan.Stream) string { return s.Flow })
	for _, name := range order {
		f := v1alpha1.FlowSummary{Name: name, ClassSummary: by[name].ClassSummary}
		if l := by[name].latency.sum(); l.Count > 0 {
			f.Latency = &v1alpha1.FlowLatency{
				MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs),
				P50Ns: l.Percentile(500), P90Ns: l.Percentile(900), P99Ns: l.Percentile(990), P999Ns: l.Percentile(999),
			}
		}
		flows = append(flows, f)
	}
	return flows
}

// multicastLatency sums up the latency of the streams to groups by receiving port; nil
// when no frame of one was timed.
func (c *Counters) multicastLatency() []v1alpha1.PortLatency {
	ports := make([]Latency, len(c.Ports))
	for _, s := range c.Streams {
		if !s.Headers.DstIP.IsMulticast() {
			continue
		}
		for _, port := range s.Rx {
			ports[port].Add(c.At(s, port).Latency)
		}
	}
	var all []v1alpha1.PortLatency
	for i := range ports {
		if l := &ports[i]; l.Count > 0 && len(all) < MaxPortDelays {
			all = append(all, v1alpha1.PortLatency{Port: c.Ports[i].Name, MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs)})
		}
	}
	return all
}

// MaxPortDelays is the maximum number of ports that a row lists.
const MaxPortDelays = 256

// Latency is the latency of all received frames.
type Latency struct {
	// Count of frames, and of differences between consecutive ones.
	Count, JitterCount uint64
	// Lowest and highest, in nanoseconds.
	MinNs, MaxNs, JitterMaxNs uint64
	// Sums in nanoseconds; over all ports they may exceed 64 bits. nil without frames.
	SumNs, JitterSumNs *big.Int
	// Buckets counts frames by latency, as traffic.BucketBounds bounds them.
	Buckets []uint64
}

// Average in nanoseconds, rounded; 0 when no frame was timed.
func (l Latency) Average() int64 { return average(l.SumNs, l.Count) }

// JitterAverage in nanoseconds, rounded; 0 when it was not measured.
func (l Latency) JitterAverage() int64 { return average(l.JitterSumNs, l.JitterCount) }

func average(sum *big.Int, count uint64) int64 {
	if count == 0 {
		return 0
	}
	return frame.Round(new(big.Rat).SetFrac(sum, new(big.Int).SetUint64(count)))
}

// Add adds what one receiver of one stream measured, without its buckets.
func (l *Latency) Add(rx traffic.Latency) {
	if rx.Count == 0 {
		return
	}
	if l.Count == 0 {
		l.MinNs, l.SumNs, l.JitterSumNs = rx.MinNs, new(big.Int), new(big.Int)
	}
	l.MinNs = min(l.MinNs, rx.MinNs)
	l.MaxNs, l.JitterMaxNs = max(l.MaxNs, rx.MaxNs), max(l.JitterMaxNs, rx.JitterMaxNs)
	l.Count += rx.Count
	l.JitterCount += rx.JitterCount
	l.SumNs.Add(l.SumNs, new(big.Int).SetUint64(rx.SumNs))
	l.JitterSumNs.Add(l.JitterSumNs, new(big.Int).SetUint64(rx.JitterSumNs))
}

// Percentile is the latency in nanoseconds that at least perMille thousandths of the frames
// do not exceed. 0 when the engine kept no buckets.
func (l Latency) Percentile(perMille uint64) int64 {
	return int64(traffic.Percentile(func(yield func(uint32, uint64) bool) {
		for i, n := range l.Buckets {
			if !yield(uint32(i), n) {
				return
			}
		}
	}, perMille, l.MinNs, l.MaxNs))
}

// latencySum adds up the latency of streams at their receivers. Streams that are alike may
// have the same buckets, which are added up once: a full mesh has tens of thousands of
// streams.
type latencySum struct {
	l       *Latency
	buckets map[uintptr]*sharedBuckets
}

type sharedBuckets struct {
	buckets map[uint32]uint64
	times   uint64
}

func newLatencySum() latencySum {
	return latencySum{&Latency{}, map[uintptr]*sharedBuckets{}}
}

// add adds what one receiver of one stream measured.
func (s latencySum) add(rx traffic.Latency) {
	if rx.Count == 0 {
		return
	}
	s.l.Add(rx)
	at := reflect.ValueOf(rx.Buckets).Pointer()
	if known := s.buckets[at]; known != nil {
		known.times++
		return
	}
	s.buckets[at] = &sharedBuckets{rx.Buckets, 1}
}

// sum is the latency of all that was added.
func (s latencySum) sum() Latency {
	l := *s.l
	l.Buckets = make([]uint64, traffic.BucketCount)
	for _, b := range s.buckets {
		for i, count := range b.buckets {
			l.Buckets[min(i, traffic.BucketCount-1)] += count * b.times
		}
	}
	return l
}
