package trex

import (
	"fmt"
	"strconv"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// latencyStats is the server's answer about a latency stream. The server leaves out
// zeros, so every field may be missing.
type latencyStats struct {
	Lat struct {
		// Histogram counts frames by the lower bound of their bucket in microseconds.
		Histogram map[string]uint64 `json:"histogram"`
		// Min and Max in microseconds, of what arrived until the server last brought them
		// up to date, see latencyLag. Max leaves out what arrived before the first time.
		Min float64 `json:"total_min"`
		Max float64 `json:"total_max"`
		// HDR is every latency, of a server that was started with --hdrh.
		HDR string `json:"hdrh"`
	} `json:"lat"`
	Errors struct {
		Dropped    uint64 `json:"drp"`
		OutOfOrder uint64 `json:"ooo"`
		Duplicate  uint64 `json:"dup"`
		TooHigh    uint64 `json:"sth"`
		TooLow     uint64 `json:"stl"`
	} `json:"er"`
	// exact are the buckets of HDR in their order; nil when the server has none.
	exact []bucket
}

// decodeHDR fills exact from HDR.
func (s *latencyStats) decodeHDR() (err error) {
	if s.Lat.HDR != "" {
		s.exact, err = hdrBuckets(s.Lat.HDR)
	}
	return err
}

// bucket is one bucket of the server's histogram in nanoseconds: low is in it,
// high is not.
type bucket struct{ low, high, count uint64 }

// buckets reads a histogram: below 10 us is one bucket, and above each power of
// ten has nine, of its own width.
func (s latencyStats) buckets() ([]bucket, error) {
	if s.exact != nil {
		return s.exact, nil
	}
	var out []bucket
	for key, count := range s.Lat.Histogram {
		low, err := strconv.ParseUint(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("TRex returned %q as the bound of a latency bucket", key)
		}
		width := uint64(10)
		for width*10 <= low {
			width *= 10
		}
		if low%width != 0 {
			return nil, fmt.Errorf("TRex returned %d us as the bound of a latency bucket, which is none of 0, 10 to 90, 100 to 900 and so on", low)
		}
		us := uint64(time.Microsecond)
		out = append(out, bucket{low * us, (low + width) * us, count})
	}
	return out, nil
}

// correct corrects the number of frames below 10 us of a stream of which so many
// frames were received. The server counts a frame as received where it times
// it, so those are what is in no other bucket. Its own count of
// them is the highest since it started, and is updated with the extremes only;
// frames of a second and more are in no bucket.
func (s latencyStats) correct(received uint64) {
	below, ok := s.Lat.Histogram[below10us]
	if !ok || s.exact != nil {
		return
	}
	delete(s.Lat.Histogram, below10us)
	others := s.timed()
	if s.Lat.Min < 10 && received > others {
		s.Lat.Histogram[below10us] = min(below, received-others)
	}
}

// below10us is the first bucket.
const below10us = "0"

// timed returns the number of frames in the histogram.
func (s latencyStats) timed() (n uint64) {
	if s.exact != nil {
		for _, b := range s.exact {
			n += b.count
		}
		return n
	}
	for _, count := range s.Lat.Histogram {
		n += count
	}
	return n
}

// extremes are the shortest and the longest latency: of all frames where the server
// reports each, and otherwise as the server keeps them.
func (s latencyStats) extremes(all []bucket) (least, greatest uint64) {
	if len(s.exact) > 0 {
		return s.exact[0].low, s.exact[len(s.exact)-1].high - uint64(time.Microsecond)
	}
	return nanoseconds(s.Lat.Min), s.greatest(all)
}

// greatest returns the longest latency as the server keeps it, in nanoseconds. The server's
// maximum covers only frames that arrived after about its first half second, which in a short
// trial are none. If the histogram has longer latencies, greatest returns the upper end of the
// highest bucket. Within that bucket the maximum may be too low.
func (s latencyStats) greatest(all []bucket) uint64 {
	greatest := nanoseconds(s.Lat.Max)
	var highest bucket
	for _, b := range all {
		if b.count > 0 && b.low >= highest.low {
			highest = b
		}
	}
	if greatest < highest.low || s.Lat.Max == 0 {
		return max(1, highest.high) - 1
	}
	return greatest
}

// latency converts the server's statistics to nanoseconds. Count and minimum are the
// server's. The sum takes each frame at the middle of its bucket, and the finer
// buckets have it at the upper end, so that no percentile is too short. The server's average changes while nothing arrives and its
// jitter is smoothed (RFC 3550), so neither is used.
func (s latencyStats) latency() (traffic.Latency, error) {
	all, err := s.buckets()
	if err != nil {
		return traffic.Latency{}, err
	}
	l := traffic.Latency{}
	l.MinNs, l.MaxNs = s.extremes(all)
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
