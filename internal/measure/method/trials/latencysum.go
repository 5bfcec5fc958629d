package trials

import (
	"math/big"
	"reflect"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

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
