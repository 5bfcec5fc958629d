package kernelstack

import (
	"math/bits"
	"time"
)

const (
	// latencyBits is the number of bits of a latency that are kept: a percentile is known within 1/64 (1.6 %).
	latencyBits = 7
	// latencyBuckets is the number of buckets: values from 0 to 2^64 - 1 ns.
	latencyBuckets = (64 - latencyBits + 2) << (latencyBits - 1)
)

// latencies counts times in buckets whose width grows with the time.
type latencies struct {
	counts       [latencyBuckets]int64
	all, longest int64
}

// bucketOf returns the bucket of a time in nanoseconds. Below 2^latencyBits each has its own.
func bucketOf(ns uint64) int {
	shift := max(0, bits.Len64(ns)-latencyBits)
	return shift<<(latencyBits-1) + int(ns>>shift)
}

// lastOf returns the longest time of a bucket.
func lastOf(bucket int) uint64 {
	const half = 1 << (latencyBits - 1)
	shift := max(0, bucket/half-1)
	return uint64(bucket-shift*half+1)<<shift - 1
}

func (l *latencies) add(took time.Duration) {
	ns := max(0, int64(took))
	l.counts[bucketOf(uint64(ns))]++
	l.all++
	l.longest = max(l.longest, ns)
}

// percentile returns a time that so many percent of all do not exceed, up to 1.6 % more.
func (l *latencies) percentile(percent int64) time.Duration {
	wanted, sum := (l.all*percent+99)/100, int64(0)
	for i, n := range l.counts {
		if sum += n; sum >= wanted && n > 0 {
			return time.Duration(min(lastOf(i), uint64(l.longest)))
		}
	}
	return 0
}
