package trex

import (
	"context"
	"fmt"
	"math"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// astfMessage is the size of a request and of an answer in bytes, and astfExchanges their number on a connection.
	astfMessage   = 32
	astfExchanges = 2
	// astfMargin is the time for which connections stay open together.
	astfMargin = 500 * time.Millisecond
	// faultTexts is the number of counters of errors that a row names.
	faultTexts = 3
)

// Connections implements workload.Engine. A connection has an exchange at once, stays open until all are, has a second
// exchange, and is closed by both ends.
func (e astfHosts) Connections(ctx context.Context, r workload.ConnectionsRequest) (out workload.Connections, err error) {
	client, server, err := e.roles(r.Client, r.Server)
	if err != nil {
		return out, err
	}
	if r.Protocol == workload.UDP || r.Clients != 1 || r.Servers != 1 || r.OpenRate <= 0 || r.Connections < 1 {
		return out, fmt.Errorf("%d connections of %s from %d clients to %d servers at %.0f connections/s: TRex counts connections of TCP from one client to one server at a rate: %w",
			r.Connections, r.Protocol, r.Clients, r.Servers, r.OpenRate, traffic.ErrUnsupported)
	}
	opening := time.Duration(float64(r.Connections) / r.OpenRate * float64(time.Second))
	held := opening + astfMargin
	tcp := astfTCP{MSS: mssOf(r.MTU), ReceiveBuffer: astfBuffer, SendBuffer: astfBuffer, KeepInit: int(math.Ceil(r.Timeout.Seconds()))}
	programs := [2]astfProgram{
		{[]params{astfSend(0), astfReceive(astfMessage), astfHold(held.Microseconds()), astfSend(0), astfReceive(astfExchanges * astfMessage)}},
		{[]params{astfReceive(astfMessage), astfSend(1), astfReceive(astfExchanges * astfMessage), astfSend(1)}},
	}
	n := int64(r.Connections)
	samples, err := e.run(ctx, astfRequest{
		profile:  newASTFProfile(client, server, r.Connections, r.OpenRate, tcp, programs, randomBytes(astfMessage, 1), randomBytes(astfMessage, 2)),
		expected: opening, longest: 2*opening + held + 3*r.Timeout + astfMargin,
		done: func(s []astfSample) bool {
			last := s[len(s)-1]
			return e.number(last.Client, countClosed) >= n && e.number(last.Server, countClosed) >= e.number(last.Server, countAccepts)
		},
	})
	if err != nil {
		return out, err
	}
	return e.connectionsOf(samples, r), nil
}

// connectionsOf returns the connections by their end, as both ends counted them.
func (e *ASTF) connectionsOf(samples []astfSample, r workload.ConnectionsRequest) (out workload.Connections) {
	last := samples[len(samples)-1]
	client := func(name string) int64 { return e.number(last.Client, name) }
	server := func(name string) int64 { return e.number(last.Server, name) }
	within := func(n, most int64) int64 { return min(max(0, n), max(0, most)) }

	out.Attempted = client(countAttempts)
	out.Established = within(client(countConnects), out.Attempted)
	out.Refused = within(client(countEarlyDrops)-client(countIdleDrops)-client(countTimedOut), out.Attempted-out.Established)
	out.TimedOut = out.Attempted - out.Established - out.Refused

	inOrder := func(count func(string) int64) int64 {
		return count(countClosed) - count(countDrops) - count(countEarlyDrops)
	}
	exchanged := min(client(countReceived), server(countReceived)) / (astfExchanges * astfMessage)
	out.Verified = within(min(inOrder(client), exchanged, server(countAccepts)), out.Established)
	out.Reset = within(client(countDrops)-client(countTimedOut), out.Established-out.Verified)
	out.Unanswered = out.Established - out.Verified - out.Reset
	out.Closed = within(inOrder(server), out.Verified)
	out.CloseTimedOut = out.Verified - out.Closed

	out.OpenRetransmissions = uint64(e.sum(last.ends, countAgain, countSYNAgain))
	out.OpenSpan = e.openSpan(samples, r)
	out.ServerDrops = uint64(e.sum(last.ends, limitCounters...))
	out.MTU, out.Limits = r.MTU, limitsOf(samples)
	if out.Verified < out.Attempted || out.OpenRetransmissions > 0 {
		out.Examples = e.faults(last.ends, faultTexts)
	}
	return out
}

// openSpan returns the time from the first connection that was opened to the last one: by the rate between the first and the last
// reading in which some were open and some not. Without two such readings it is the time between the readings around them.
func (e *ASTF) openSpan(samples []astfSample, r workload.ConnectionsRequest) time.Duration {
	open := func(s astfSample) int64 { return e.number(s.Client, countAttempts) }
	all := open(samples[len(samples)-1])
	first, last, after := -1, -1, -1
	for i, s := range samples {
		switch n := open(s); {
		case n > 0 && n < all:
			if first < 0 {
				first = i
			}
			last = i
		case n == all && after < 0:
			after = i
		}
	}
	switch {
	case all < int64(r.Connections): // not all in time
		return samples[len(samples)-1].at.since(samples[0].at)
	case last > first && open(samples[last]) > open(samples[first]):
		perSecond := float64(open(samples[last])-open(samples[first])) / samples[last].at.since(samples[first].at).Seconds()
		return time.Duration(float64(all-1) / perSecond * float64(time.Second))
	case after > 0: // too short to be read in between
		return samples[after].at.since(samples[after-1].at)
	}
	return 0
}
