package traffic

import (
	"maps"
	"math"
	"slices"
)

// Add adds the latency of other frames. Jitter within each of the two is kept.
func (l *Latency) Add(other Latency) {
	if other.Count == 0 {
		return
	}
	if l.Count == 0 || other.MinNs < l.MinNs {
		l.MinNs = other.MinNs
	}
	l.MaxNs, l.JitterMaxNs = max(l.MaxNs, other.MaxNs), max(l.JitterMaxNs, other.JitterMaxNs)
	l.Count += other.Count
	l.SumNs += other.SumNs
	l.JitterCount += other.JitterCount
	l.JitterSumNs += other.JitterSumNs
	if l.Buckets == nil {
		l.Buckets = make(map[uint32]uint64, len(other.Buckets))
	}
	for i, n := range other.Buckets {
		l.Buckets[i] += n
	}
}

// Since is the latency of the frames that came after an earlier count of the same. Its
// lowest and highest are known to the width of a bucket, and its highest jitter is not.
func (l Latency) Since(before Latency) Latency {
	d := Latency{
		Count: grown(l.Count, before.Count), SumNs: grown(l.SumNs, before.SumNs),
		JitterCount: grown(l.JitterCount, before.JitterCount), JitterSumNs: grown(l.JitterSumNs, before.JitterSumNs),
	}
	for i, n := range l.Buckets {
		more := grown(n, before.Buckets[i])
		if more == 0 {
			continue
		}
		low, high := BucketBounds(i)
		if d.Buckets == nil {
			d.Buckets, d.MinNs = map[uint32]uint64{}, math.MaxUint64
		}
		d.Buckets[i] = more
		d.MinNs, d.MaxNs = min(d.MinNs, max(low, l.MinNs)), max(d.MaxNs, min(high, l.MaxNs))
	}
	return d
}

// AvgNs is the average in nanoseconds, rounded down; 0 of no frame.
func (l Latency) AvgNs() uint64 {
	if l.Count == 0 {
		return 0
	}
	return l.SumNs / l.Count
}

// PercentileNs is the latency in nanoseconds that so many of 1,000 frames do not exceed:
// the upper end of its bucket. 0 of no frame.
func (l Latency) PercentileNs(perMille uint64) uint64 {
	var all, seen uint64
	for _, n := range l.Buckets {
		all += n
	}
	for _, i := range slices.Sorted(maps.Keys(l.Buckets)) {
		if seen += l.Buckets[i]; seen*1000 >= all*perMille {
			_, high := BucketBounds(i)
			return min(high, l.MaxNs)
		}
	}
	return 0
}
