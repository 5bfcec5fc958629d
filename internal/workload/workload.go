// Package workload describes engines that run applications of hosts on the test ports. They stand next
// to the engines that send frames: a frame engine has no connections, and a workload engine counts
// no test frames.
package workload

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Engine runs workloads between hosts on the ports of a bed. Its calls come one after the other, and
// each ends when its context does.
type Engine interface {
	// Incast lets a client ask many servers at once for a block each, over connections that stay open.
	Incast(ctx context.Context, request IncastRequest) (Incast, error)
	// ConnectIncast makes the hosts of an incast and opens its connections. The next call of Incast uses them, with
	// the same request, so that nothing else happens next to the frames that are sent meanwhile. It replaces the
	// hosts of an earlier call.
	ConnectIncast(ctx context.Context, request IncastRequest) error
	// DisconnectIncast returns the segments that the servers sent since Incast began, and the ones that the client
	// received, and removes the hosts. It is called once no segment is on its way any more. It fails without hosts of
	// ConnectIncast, since nothing is known of the segments then.
	DisconnectIncast(ctx context.Context) (Segments, error)
	// Connections lets clients open connections to servers, hold them together, verify each, and close them.
	Connections(ctx context.Context, request ConnectionsRequest) (Connections, error)
	// RPC lets a client send requests to a server one after the other, over a connection that stays open.
	RPC(ctx context.Context, request RPCRequest) (RPC, error)
	// Collective lets hosts sum or exchange messages in steps: one begins at a host once everything of the step before was received.
	Collective(ctx context.Context, request CollectiveRequest) (Collective, error)
	// Bulk lets a sender move a data set to a receiver over one or several connections.
	Bulk(ctx context.Context, request BulkRequest) (Bulk, error)
	// Messages lets publishers send numbered datagrams to multicast groups, and subscribers count them.
	Messages(ctx context.Context, request MessagesRequest) (Messages, error)
	// Close removes all hosts.
	Close() error
}

// Port of a bed on which hosts are made.
type Port struct {
	// Name of the port in the bed, and its interface in the namespace of the tester.
	Name      string `json:"name"`
	Interface string `json:"interface"`
	// Address of the port with the length of its network, from which hosts get their addresses.
	Address netip.Prefix `json:"address"`
	// Gateway is the device's address in that network; not valid if all ports are in one network.
	Gateway netip.Addr `json:"gateway"`
	// Taken are other addresses of the tester in that network.
	Taken []netip.Addr `json:"taken,omitempty"`
}

// MaxHosts is the maximum number of servers of a request.
const MaxHosts = 128

// IncastRequest describes an incast.
type IncastRequest struct {
	// Client is the name of the port of the client.
	Client string
	// Servers are the names of the ports of the servers. Several servers are on a port if there are
	// fewer ports than servers: the ports take turns.
	Servers []string
	// Blocks are the bytes that each server sends in an iteration.
	Blocks []int64
	// Iterations is the number of times that the client asks all servers.
	Iterations int
	// MTU of the hosts in bytes.
	MTU int
	// CongestionControl of the connections; empty for the default of the hosts.
	CongestionControl string
	// Stateless are the test frames that go to the client's port meanwhile; nil for none. An engine that models the
	// device drops and delays them. Others take such a request with hosts of ConnectIncast only.
	Stateless *StatelessFrames
}

// StatelessFrames are test frames that go to a port at a constant rate.
type StatelessFrames struct {
	// Bytes of a frame, with FCS.
	Bytes int
	// PerSecond is the number of frames in a second.
	PerSecond int64
}

// Segments are the segments of the connections of an incast in the direction of the client.
type Segments struct{ Sent, Received uint64 }

// Lost returns the number of segments that did not arrive.
func (s Segments) Lost() uint64 { return s.Sent - min(s.Sent, s.Received) }

// Stripe divides a number of bytes among servers. The first ones send a byte more if it cannot be
// divided evenly.
func Stripe(total int64, servers int) []int64 {
	blocks := make([]int64, servers)
	for i := range blocks {
		blocks[i] = total / int64(servers)
		if int64(i) < total%int64(servers) {
			blocks[i]++
		}
	}
	return blocks
}

// Bytes returns the number of bytes of one iteration.
func (r IncastRequest) Bytes() (n int64) {
	for _, b := range r.Blocks {
		n += b
	}
	return n
}

// Incast is the result of an incast.
type Incast struct {
	// Completions are the times from the first request of an iteration to the last byte of its last
	// block, in the order of the iterations.
	Completions []time.Duration
	// Skews are the times between the servers that began to send first and last, for each iteration.
	Skews []time.Duration
	// Connections have the counters of each server.
	Connections []Connection
	// Settings that were in force.
	Settings Settings
	// ReceivedBytes and ReceivedPackets are the counters of the interface of the client over all
	// iterations, with headers.
	ReceivedBytes, ReceivedPackets uint64
	// DeviceDrops is the number of packets that the device dropped, if the engine models the device; nil
	// otherwise.
	DeviceDrops *uint64
	// Limits of the hosts over all iterations.
	Limits Limits
}

// Connection has the counters of the connection of a server over all iterations.
type Connection struct {
	// Retransmissions is the number of segments that the server sent again, and Timeouts the number
	// of times that its retransmission timer expired.
	Retransmissions, Timeouts uint64
	// Busy is the time in which the server had data to send, and WindowLimited the part of it in which
	// the receive window of the client kept it from sending.
	Busy, WindowLimited time.Duration
}

// Settings contains the settings that the hosts reported after the connections were open.
type Settings struct {
	// CongestionControl of the servers.
	CongestionControl string
	// MTU of the interfaces.
	MTU int
	// Offloads are the names of the offloads that join or divide segments and were on at a port.
	Offloads []string
	// SendBuffer of the servers, and ReceiveBuffer of the client, in bytes, at the end. The kernel
	// changes both while connections are open.
	SendBuffer, ReceiveBuffer int
}

// Differences describes how settings differ from a request.
func (s Settings) Differences(r IncastRequest) []string {
	return s.differences(r.CongestionControl, r.MTU)
}

// differences describes how settings differ from a congestion control, if one is asked for, and an MTU.
func (s Settings) differences(control string, mtu int) (texts []string) {
	if control != "" && s.CongestionControl != control {
		texts = append(texts, fmt.Sprintf("congestion control %s was asked for, and the servers had %s", control, s.CongestionControl))
	}
	if s.MTU != mtu {
		texts = append(texts, fmt.Sprintf("an MTU of %d bytes was asked for, and the hosts had %d", mtu, s.MTU))
	}
	if len(s.Offloads) > 0 {
		texts = append(texts, fmt.Sprintf("offloads should be off, and %q were on", s.Offloads))
	}
	return texts
}

// Limits describe how busy the machine of the hosts was.
type Limits struct {
	// BusyPPM is the share of the time of all processors of the machine that was used, in parts per
	// million.
	BusyPPM int64
	// SoftnetDrops is the number of packets that the machine dropped since a processor did not keep up.
	SoftnetDrops uint64
}

// MaxBusyPPM is the share of busy processors above which the hosts may be the limit.
const MaxBusyPPM = 950_000

// Doubt explains how the hosts, and not the device, may be the limit; empty if they are not.
func (l Limits) Doubt() string {
	switch {
	case l.SoftnetDrops > 0:
		return fmt.Sprintf("the machine of the hosts dropped %d packets since its processors did not keep up", l.SoftnetDrops)
	case l.BusyPPM > MaxBusyPPM:
		return fmt.Sprintf("the processors of the machine of the hosts were busy for %d %% of the time, so that the hosts can be the limit", l.BusyPPM/10_000)
	}
	return ""
}

// Percentile returns the smallest duration that is not below so many percent of all; 0 without any.
func Percentile(all []time.Duration, percent int) time.Duration { return PerMille(all, 10*percent) }

// PerMille returns the smallest duration that is not below so many thousandths of all; 0 without any.
func PerMille(all []time.Duration, n int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(0, (len(sorted)*n+999)/1000-1)]
}

// Host is implemented by frame engines that have a workload engine of their own.
type Host interface {
	// Workload is the same for all calls.
	Workload() Engine
}
