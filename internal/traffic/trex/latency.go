package trex

import (
	"fmt"
	"strconv"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// latencyStats is what the server tells of a latency stream. What is zero is
// left out, so every field may be missing.
type latencyStats struct {
	Lat struct {
		// Histogram counts frames by the lower bound of their bucket in microseconds.
		Histogram map[string]uint64 `json:"histogram"`
		// Min and Max in microseconds. They lag behind the histogram.
		Min float64 `json:"total_min"`
		Max float64 `json:"total_max"`
	} `json:"lat"`
	Errors struct {
		Dropped    uint64 `json:"drp"`
		OutOfOrder uint64 `json:"ooo"`
		Duplicate  uint64 `json:"dup"`
		TooHigh    uint64 `json:"sth"`
		TooLow     uint64 `json:"stl"`
	} `json:"er"`
}

// bucket is one bucket of the server's histogram in nanoseconds: low is in it,
// high is not.
type bucket struct{ low, high, count uint64 }

// buckets reads a histogram: below 10 us is one bucket, and above each power of
// ten has nine, of its own width.
func (s latencyStats) buckets() ([]bucket, error) {
	var out []bucket
	for key, count := range s.Lat.Histogram {
		low, err := strconv.ParseUint(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("TRex gives %q as the bound of a latency bucket", key)
		}
		width := uint64(10)
		for width*10 <= low {
			width *= 10
		}
		if low%width != 0 {
			return nil, fmt.Errorf("TRex gives %d us as the bound of a latency bucket, which is none of 0, 10 to 90, 100 to 900 and so on", low)
		}
		us := uint64(time.Microsecond)
		out = append(out, bucket{low * us, (low + width) * us, count})
	}
	return out, nil
}

// settled says whether the maximum has caught up with the histogram.
func (s latencyStats) settled() (bool, error) {
	all, err := s.buckets()
	for _, b := range all {
		if b.count > 0 && nanoseconds(s.Lat.Max) < b.low {
			return false, err
		}
	}
	return true, err
}

// latency turns what the server tells into nanoseconds. The count, minimum and
// maximum are as told, of frames that each lie in a bucket: the sum takes them at
// the bucket's middle, and the finer buckets have them at its upper end, so that
// no percentile is told too short. The server's average changes while nothing
// arrives and its jitter is smoothed (RFC 3550), so neither is used.
func (s latencyStats) latency() (traffic.Latency, error) {
	all, err := s.buckets()
	if err != nil {
		return traffic.Latency{}, err
	}
	l := traffic.Latency{MinNs: nanoseconds(s.Lat.Min), MaxNs: nanoseconds(s.Lat.Max)}
	for _, b := range all {
		if b.count == 0 {
			continue
		}
		low, high := max(b.low, l.MinNs), b.high-1
		if l.MaxNs >= b.low {
			high = min(high, l.MaxNs)
		}
		if l.Buckets == nil {
			l.Buckets = map[uint32]uint64{}
		}
		l.Count += b.count
		l.SumNs += (low + max(low, high)) / 2 * b.count
		l.Buckets[traffic.BucketIndex(high)] += b.count
	}
	if l.Count == 0 {
		return traffic.Latency{}, nil
	}
	return l, nil
}

func nanoseconds(us float64) uint64 { return uint64(us * float64(time.Microsecond)) }
