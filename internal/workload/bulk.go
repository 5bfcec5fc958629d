package workload

import (
	"fmt"
	"time"
)

// MaxBulkConnections is the maximum number of connections of a bulk request.
const MaxBulkConnections = 128

// BulkRequest describes data that a sender moves to a receiver.
type BulkRequest struct {
	// Sender and Receiver are the names of their ports.
	Sender, Receiver string
	// Bytes of the data set. Connections take parts of it as they have room for them. 0 if data is sent for a Duration.
	Bytes int64
	// Duration for which data is sent; 0 for a data set.
	Duration time.Duration
	// Connections is the number of connections between both hosts.
	Connections int
	// MTU of the hosts in bytes.
	MTU int
	// CongestionControl of the connections; empty for the default of the hosts.
	CongestionControl string
}

// Validate reports a request that no engine can run.
func (r BulkRequest) Validate() error {
	switch {
	case r.Connections < 1 || r.Connections > MaxBulkConnections:
		return fmt.Errorf("%d connections were asked for: give 1 to %d", r.Connections, MaxBulkConnections)
	case (r.Bytes > 0) == (r.Duration > 0):
		return fmt.Errorf("a data set of %d bytes and a duration of %s were asked for: give one of them above 0", r.Bytes, r.Duration)
	case r.Sender == r.Receiver:
		return fmt.Errorf("sender and receiver are on port %s: give two ports", r.Sender)
	}
	return nil
}

// Differences describes how settings differ from a request.
func (r BulkRequest) Differences(s Settings) []string {
	return s.differences(r.CongestionControl, r.MTU)
}

// Bulk is the result of data that was moved.
type Bulk struct {
	// Took is the time from the first byte that was sent to the last byte that was received.
	Took time.Duration
	// Connections have the counts of each connection.
	Connections []BulkConnection
	// Timeouts is the number of times that a retransmission timer of the sender expired.
	Timeouts uint64
	// Settings that were in force.
	Settings Settings
	// Limits of the hosts while data was moved.
	Limits Limits
}

// BulkConnection has the counts of a connection.
type BulkConnection struct {
	// Sent is the number of bytes that the sender wrote, and Received the number of bytes that the receiver read.
	Sent, Received int64
	// SenderCPU and ReceiverCPU are the processor times of the threads of both ends; 0 if the hosts are a model.
	SenderCPU, ReceiverCPU time.Duration
	// TCP has the counters of the sender.
	TCP Connection
	// Problem explains why the connection was lost; empty if all bytes sent were received.
	Problem string
}

// Sent and Received return the sums of all connections.
func (b Bulk) Sent() (n int64) {
	for _, c := range b.Connections {
		n += c.Sent
	}
	return n
}

// Received is described at Sent.
func (b Bulk) Received() (n int64) {
	for _, c := range b.Connections {
		n += c.Received
	}
	return n
}

// CPUPPM returns the processor times of both ends in parts per million of one processor.
func (b Bulk) CPUPPM() (sender, receiver int64) {
	var sending, receiving time.Duration
	for _, c := range b.Connections {
		sending, receiving = sending+c.SenderCPU, receiving+c.ReceiverCPU
	}
	return sharePPM(sending, b.Took), sharePPM(receiving, b.Took)
}

// BusiestPPM returns the highest processor time of a thread in parts per million of one processor. A thread uses one
// processor at a time.
func (b Bulk) BusiestPPM() int64 {
	var most time.Duration
	for _, c := range b.Connections {
		most = max(most, c.SenderCPU, c.ReceiverCPU)
	}
	return sharePPM(most, b.Took)
}

// Doubt explains how the hosts, and not the device, may be the limit; empty if they are not.
func (b Bulk) Doubt() string {
	if busiest := b.BusiestPPM(); busiest > MaxBusyPPM {
		return fmt.Sprintf("the thread of an end of a connection used a processor for %d %% of the time, so that the hosts can be the limit", busiest/10_000)
	}
	return b.Limits.Doubt()
}

func sharePPM(part, whole time.Duration) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 1e6)
}
