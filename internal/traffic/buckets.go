package traffic

import "math/bits"

// Latency buckets follow the HdrHistogram layout with a lowest discernible value
// of 1 ns: below 2*subBuckets every nanosecond has a bucket of its own, above it
// every power of two is divided into subBuckets equal parts, so that a value is
// known within 1/64 (1.6 %).
const (
	subBucketBits = 6
	subBuckets    = 1 << subBucketBits
	// BucketCount is the number of latency buckets: values up to 2^40 ns (18
	// minutes); larger ones count in the last bucket.
	BucketCount = (40-subBucketBits)*subBuckets + subBuckets
)

// BucketIndex returns the bucket of a latency in nanoseconds.
func BucketIndex(ns uint64) uint32 {
	if ns < 2*subBuckets {
		return uint32(ns)
	}
	shift := bits.Len64(ns) - 1 - subBucketBits
	i := shift*subBuckets + int(ns>>shift)
	return uint32(min(i, BucketCount-1))
}

// BucketBounds returns the lowest and highest latency in nanoseconds that count
// in a bucket.
func BucketBounds(index uint32) (low, high uint64) {
	if index < 2*subBuckets {
		return uint64(index), uint64(index)
	}
	shift := index/subBuckets - 1
	low = uint64(index-shift*subBuckets) << shift
	return low, low + 1<<shift - 1
}
