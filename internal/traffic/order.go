package traffic

import "math/bits"

// Order describes how far behind the reordered frames of a stream arrived (RFC 4737). The zero
// value describes a stream in order.
type Order struct {
	// ExtentMax is the largest reordering extent (section 4.2): how many frames were
	// received from the first one with a larger number on.
	ExtentMax uint64
	// DegreeMax is the largest n for which a frame is n-reordered (section 5): the n
	// frames received just before it all have larger numbers.
	DegreeMax uint64
	// LateMaxNs is the largest late time offset in nanoseconds (section 4.3): the time
	// since the arrival of the first frame with a larger number.
	LateMaxNs uint64
	// Beyond counts frames of which the engine no longer knew the first frame with a
	// larger number. For these, extent and late time offset count as the least that
	// they can be.
	Beyond uint64
	// Gaps counts the distances between a reordering discontinuity, the arrival of the
	// first frame with a larger number than a reordered one, and the next (section 4.5),
	// for engines that know them; GapSum and GapMin are their sum and the smallest, in
	// frames received.
	Gaps, GapSum, GapMin uint64
	// Extents counts the reordered frames by their extent, and Degrees by the largest n
	// for which they are n-reordered: 0 for those that follow one with a smaller number.
	// OrderBounds gives the bounds of an index; an absent one is 0.
	Extents, Degrees map[uint32]uint64
}

// Buckets of extents and degrees: every number below orderExact has one of its own,
// and above it every power of two.
const (
	orderExact = 8
	// OrderBucketCount is the number of buckets; what is larger counts in the last.
	OrderBucketCount = 32
)

// OrderBucket returns the bucket of an extent, or of an n.
func OrderBucket(frames uint64) uint32 {
	if frames < orderExact {
		return uint32(frames)
	}
	return min(uint32(bits.Len64(frames))+4, OrderBucketCount-1)
}

// OrderBounds returns the lowest and the highest number of frames that count in a
// bucket. The last bucket has no upper bound but that of the type.
func OrderBounds(index uint32) (low, high uint64) {
	if index < orderExact {
		return uint64(index), uint64(index)
	}
	low = 1 << (index - 5)
	if index >= OrderBucketCount-1 {
		return low, 1<<64 - 1
	}
	return low, 2*low - 1
}

// Add adds the frames of another stream.
func (o *Order) Add(other Order) {
	o.ExtentMax, o.DegreeMax = max(o.ExtentMax, other.ExtentMax), max(o.DegreeMax, other.DegreeMax)
	o.LateMaxNs = max(o.LateMaxNs, other.LateMaxNs)
	o.Beyond += other.Beyond
	if other.Gaps > 0 && (o.Gaps == 0 || other.GapMin < o.GapMin) {
		o.GapMin = other.GapMin
	}
	o.Gaps, o.GapSum = o.Gaps+other.Gaps, o.GapSum+other.GapSum
	addTo(&o.Extents, other.Extents)
	addTo(&o.Degrees, other.Degrees)
}

func addTo(sum *map[uint32]uint64, frames map[uint32]uint64) {
	if *sum == nil && len(frames) > 0 {
		*sum = map[uint32]uint64{}
	}
	for i, n := range frames {
		(*sum)[i] += n
	}
}

// Reordered returns the number of frames that are n-reordered. n must be the lower bound of a
// bucket.
func (o Order) Reordered(n uint64) uint64 {
	var frames uint64
	for i, k := range o.Degrees {
		if i >= OrderBucket(n) {
			frames += k
		}
	}
	return frames
}
