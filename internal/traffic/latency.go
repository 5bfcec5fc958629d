package traffic

import (
	"iter"
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

// PercentileNs is the latency in nanoseconds that so many of 1,000 frames do not exceed,
// as Percentile counts them. 0 of no frame.
func (l Latency) PercentileNs(perMille uint64) uint64 {
	return Percentile(func(yield func(uint32, uint64) bool) {
		for _, i := range slices.Sorted(maps.Keys(l.Buckets)) {
			if !yield(i, l.Buckets[i]) {
				return
			}
		}
	}, perMille, l.MinNs, l.MaxNs)
}

// Percentile is the latency in nanoseconds that at least perMille thousandths of the
// frames do not exceed: the upper bound of the bucket in which that frame lies, as
// HdrHistogram defines it, and within the lowest and the highest latency seen. Buckets have
// the numbers of BucketBounds, in rising order. It is 0 without a frame in them.
func Percentile(buckets iter.Seq2[uint32, uint64], perMille, lowest, highest uint64) uint64 {
	var total uint64
	for _, n := range buckets {
		total += n
	}
	rank := (total/1000)*perMille + ((total%1000)*perMille+999)/1000
	var seen uint64
	for i, n := range buckets {
		if seen += n; n > 0 && seen >= rank {
			_, high := BucketBounds(i)
			return max(min(high, highest), lowest)
		}
	}
	return 0
}
