package tcpmodel

import (
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/workload"
)

// Iteration has the figures of one request to all servers.
type Iteration struct {
	// Completion is the time from the first request to the last byte at the client.
	Completion time.Duration
	// Skew is the time between the first segments of the servers that began first and last.
	Skew time.Duration
	// Bytes is the data that the client received, without repetitions.
	Bytes int64
	// DroppedPackets are packets that the switch dropped, MarkedPackets packets that it marked.
	DroppedPackets, MarkedPackets int
	// Retransmissions are segments that servers sent again, Timeouts the expirations of their timers.
	Retransmissions, Timeouts int
}

// Connection has the figures of one server over all iterations.
type Connection struct {
	Retransmissions, Timeouts int
}

// Result has the figures of a simulation.
type Result struct {
	Iterations  []Iteration
	Connections []Connection
	// GoodputMbps is all data by the sum of all completion times, in Mbit/s.
	GoodputMbps float64
	// The means by iteration.
	DroppedPackets, MarkedPackets, Retransmissions, Timeouts float64
	// The distribution of completion times.
	MeanCompletion, P50Completion, P99Completion, MaxCompletion time.Duration
	// SentPackets is the number of segments that servers sent in all iterations, DeliveredPackets the part that reached
	// the client, of which DuplicatePackets held data that it had already.
	SentPackets, DeliveredPackets, DuplicatePackets int64
	// DeliveredBytes are the bytes of the delivered packets in Ethernet frames without FCS.
	DeliveredBytes int64
	// MaxQueueBytes is the longest queue.
	MaxQueueBytes int
	// Stateless are the counts of stateless frames.
	Stateless StatelessCounts
}

// StatelessCounts has the counts of stateless frames, and how long the delivered ones waited for the client's port.
type StatelessCounts struct {
	Sent, Delivered, Dropped  int64
	MinWait, AvgWait, MaxWait time.Duration

	waits int64 // ns, of all delivered frames
}

// count adds a delivered frame.
func (c *StatelessCounts) count(wait int64) {
	if c.Delivered++; c.Delivered == 1 || wait < int64(c.MinWait) {
		c.MinWait = time.Duration(wait)
	}
	c.MaxWait, c.waits = max(c.MaxWait, time.Duration(wait)), c.waits+wait
}

// summarize computes the figures over all iterations.
func (r *Result) summarize() {
	if c := &r.Stateless; c.Delivered > 0 {
		c.AvgWait = time.Duration(c.waits / c.Delivered)
	}
	var bytes int64
	var total time.Duration
	times := make([]time.Duration, 0, len(r.Iterations))
	for _, it := range r.Iterations {
		bytes += it.Bytes
		total += it.Completion
		times = append(times, it.Completion)
		r.DroppedPackets += float64(it.DroppedPackets)
		r.MarkedPackets += float64(it.MarkedPackets)
		r.Retransmissions += float64(it.Retransmissions)
		r.Timeouts += float64(it.Timeouts)
	}
	n := float64(len(r.Iterations))
	r.DroppedPackets /= n
	r.MarkedPackets /= n
	r.Retransmissions /= n
	r.Timeouts /= n
	r.GoodputMbps = float64(bytes) * 8 / total.Seconds() / 1e6
	r.MeanCompletion = total / time.Duration(len(times))
	r.P50Completion = workload.Percentile(times, 50)
	r.P99Completion = workload.Percentile(times, 99)
	r.MaxCompletion = slices.Max(times)
}
