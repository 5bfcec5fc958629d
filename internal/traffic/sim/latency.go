package sim

import "nodrop.dev/nodrop/internal/traffic"

// shape contains the values that determine the latency of a stream at one port.
type shape struct {
	count                uint64
	min, avg, max        uint64
	jitterAvg, jitterMax uint64
}

// shapes keeps the latency of a shape, since many streams have the same. The
// buckets of equal streams are one map.
type shapes map[shape]traffic.Latency

// shape is the latency at a load. What waiting adds to the lowest latency, and the
// jitter, are in proportion to the load; beyond the capacity the queue is full and
// every frame waits longest.
func (r row) shape(load portLoad) shape {
	s := shape{min: r.latencyMin, avg: r.latencyAvg, max: r.latencyMax, jitterAvg: r.jitterAvg, jitterMax: r.jitterMax}
	switch {
	case load.arrived > load.capacity:
		s.avg = s.max
	case load.arrived < load.capacity:
		part := func(v uint64) uint64 { return (mulDiv(2*v, load.arrived, load.capacity) + 1) / 2 }
		s.avg, s.max = s.min+part(s.avg-s.min), s.min+part(s.max-s.min)
		s.jitterAvg, s.jitterMax = part(s.jitterAvg), part(s.jitterMax)
	}
	return s
}

func (known shapes) latency(s shape) traffic.Latency {
	l, ok := known[s]
	if !ok {
		l = s.latency()
		known[s] = l
	}
	return l
}

// latency makes the sums and buckets of a shape. The frames lie evenly between
// the lowest latency and the mean, and evenly between the mean and the highest,
// in the proportion that makes the mean what it is.
func (s shape) latency() traffic.Latency {
	if s.count == 1 {
		s.min, s.max = s.avg, s.avg
	}
	l := traffic.Latency{
		Count: s.count, MinNs: s.min, MaxNs: s.max, SumNs: sum(s.count, s.min, s.avg, s.max),
		Buckets: map[uint32]uint64{},
	}
	if s.count > 1 {
		l.JitterCount, l.JitterMaxNs = s.count-1, s.jitterMax
		l.JitterSumNs = max(l.JitterCount*s.jitterAvg, s.jitterMax) // One difference is the highest.
	}
	if s.min == s.max {
		l.Buckets[traffic.BucketIndex(s.min)] = s.count
		return l
	}
	// One frame has the lowest and one the highest latency, whatever the rest.
	l.Buckets[traffic.BucketIndex(s.min)]++
	l.Buckets[traffic.BucketIndex(s.max)]++
	rest := s.count - 2
	low := mulDiv(rest, s.max-s.avg, s.max-s.min)
	spread(l.Buckets, low, s.min, s.avg)
	spread(l.Buckets, rest-low, s.avg, s.max)
	return l
}

// sum is the sum of count values with the mean avg, as far as one of them being
// the lowest and one the highest allows.
func sum(count, lowest, avg, highest uint64) uint64 {
	if count == 1 {
		return highest
	}
	return min(max(count*avg, (count-1)*lowest+highest), lowest+(count-1)*highest)
}

// spread puts count frames evenly over the latencies from first to last.
func spread(buckets map[uint32]uint64, count, first, last uint64) {
	if count == 0 {
		return
	}
	width := last - first + 1
	var done uint64
	end := traffic.BucketIndex(last)
	for i := traffic.BucketIndex(first); i <= end; i++ {
		high := last // The last bucket takes what lies beyond its bound.
		if i < end {
			_, high = traffic.BucketBounds(i)
		}
		upTo := mulDiv(count, high-first+1, width)
		if upTo > done {
			buckets[i] += upTo - done
			done = upTo
		}
	}
}
