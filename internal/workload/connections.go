package workload

import (
	"fmt"
	"time"
)

// Protocol of connections.
type Protocol string

const (
	// TCP is the protocol of connections that both sides open and close.
	TCP Protocol = "TCP"
	// UDP is the protocol of connections that only a device knows: an entry of its table, for requests and answers between two
	// addresses with their ports. The first request with its answer makes it, and the device removes it after a time.
	UDP Protocol = "UDP"
)

// ConnectionsRequest describes connections that clients open to servers, hold together, and close.
type ConnectionsRequest struct {
	// Protocol of the connections; empty for TCP.
	Protocol Protocol
	// Client and Server are the names of the ports of the clients and of the servers.
	Client, Server string
	// Clients and Servers are the numbers of hosts on these ports. Connections take turns.
	Clients, Servers int
	// Connections is the number of connections that are attempted.
	Connections int
	// OpenRate and CloseRate are the numbers of connections that are opened and closed per second, at equal
	// distances; 0 for as fast as the hosts can. Ones of UDP are also verified at OpenRate, and are not closed.
	OpenRate, CloseRate float64
	// Timeout bounds the establishment of a connection, each answer on it, and its end.
	Timeout time.Duration
	// MTU of the hosts in bytes.
	MTU int
}

// MaxConnections is the maximum number of connections of a request.
const MaxConnections = 200_000

// ConnectionsPerClient is the maximum number of connections of a client: of its ports.
const ConnectionsPerClient = 64_000

// Connections are the numbers of connections by their end. Attempted is the sum of Established, Refused and TimedOut;
// Established is the sum of Verified, Reset, Unanswered and Wrong. With TCP Verified is the sum of Closed, CloseReset and
// CloseTimedOut, and with UDP these are 0.
type Connections struct {
	// Attempted connections, of which the first packet was sent.
	Attempted int64
	// Established connections, as the client saw them: with UDP the first request was answered.
	Established int64
	// Refused connections were answered by a reset or an error.
	Refused int64
	// TimedOut connections had no answer in time.
	TimedOut int64
	// Verified connections had the right answer of the right server when they were established, and again when all were. With UDP
	// the server sent a datagram to the client before that, and the device did not change the translated address.
	Verified int64
	// Reset connections ended before the clients closed them.
	Reset int64
	// Unanswered connections had no answer to a request in time.
	Unanswered int64
	// Wrong connections had the answer of another server, or an answer to another request, or another translated address than before.
	Wrong int64
	// Closed connections ended in order on both sides.
	Closed int64
	// CloseReset connections were reset while they were closed, and CloseTimedOut ones did not end in time.
	CloseReset, CloseTimedOut int64
	// OpenRetransmissions and CloseRetransmissions are the segments that the hosts sent again while connections were
	// opened and verified, and while they were closed.
	OpenRetransmissions, CloseRetransmissions uint64
	// OpenSpan and CloseSpan are the times from the first connection that was opened or closed to the last one.
	OpenSpan, CloseSpan time.Duration
	// SetUp and TearDown are the times from the first connection that was opened or closed to the last answer
	// on a connection, or to the end of the last connection.
	SetUp, TearDown time.Duration
	// SetUps are the times from the first packet of a connection until it was established, for each established one.
	SetUps []time.Duration
	// Examples describe the first connections that failed in each way.
	Examples []string
	// ServerDrops is the number of connections that the servers dropped since they did not keep up, and of datagrams that the hosts
	// dropped.
	ServerDrops uint64
	// MTU of the interfaces, and the Offloads that were on although they should be off.
	MTU      int
	Offloads []string
	// Limits of the hosts over all phases.
	Limits Limits
}

// Differences describes how the hosts differ from a request.
func (c Connections) Differences(r ConnectionsRequest) []string {
	return Settings{MTU: c.MTU, Offloads: c.Offloads}.differences("", r.MTU)
}

// minimumPace is the part of a rate at which the hosts have to open and close connections.
const minimumPace = 0.98

// OpenedPerSecond and ClosedPerSecond are the rates at which connections were opened and closed; 0 if they are not known.
func (c Connections) OpenedPerSecond() float64 { return pace(c.Attempted, c.OpenSpan) }

// ClosedPerSecond is described at OpenedPerSecond.
func (c Connections) ClosedPerSecond() float64 { return pace(c.Verified, c.CloseSpan) }

// pace returns the rate of events of which the first and the last have a distance.
func pace(n int64, span time.Duration) float64 {
	if n < 2 || span <= 0 {
		return 0
	}
	return float64(n-1) / span.Seconds()
}

// Late explains that the hosts did not open or close connections at the rates that were asked for; empty if they did.
func (c Connections) Late(r ConnectionsRequest) string {
	if had := c.OpenedPerSecond(); had > 0 && had < r.OpenRate*minimumPace {
		return fmt.Sprintf("the hosts opened %.0f connections per second, and %.0f were asked for", had, r.OpenRate)
	}
	if had := c.ClosedPerSecond(); had > 0 && had < r.CloseRate*minimumPace && c.Verified == c.Attempted {
		return fmt.Sprintf("the hosts closed %.0f connections per second, and %.0f were asked for", had, r.CloseRate)
	}
	return ""
}

// Doubt explains how the hosts, and not the device, may be the reason for failed connections; empty if they are not.
func (c Connections) Doubt() string {
	if c.ServerDrops > 0 {
		return fmt.Sprintf("the hosts dropped %d connections or datagrams since they did not keep up", c.ServerDrops)
	}
	return c.Limits.Doubt()
}
