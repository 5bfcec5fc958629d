package trex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// astfPart is the number of bytes that a program sends again and again.
	astfPart = 32 << 10
	// slowest is the rate in bytes per second that a data set is expected to have at least, by which the run is bounded.
	slowest = 125_000
	// astfStall is the time without a byte after which a connection is lost.
	astfStall = time.Minute
	// bulkTimeout bounds the establishment of the connection.
	bulkTimeout = 5 * time.Second
)

// Bulk implements workload.Engine. The client connects. The sender is the client or the server.
func (e astfHosts) Bulk(ctx context.Context, r workload.BulkRequest) (out workload.Bulk, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	control := cmp.Or(r.CongestionControl, capability.ASTFControls[0])
	number := slices.Index(capability.ASTFControls, control)
	if number < 0 || r.Connections != 1 || r.Bytes < 1 {
		return out, fmt.Errorf("%d connections with congestion control %s for %d bytes: TRex counts a data set of one connection, with reno or cubic: %w", r.Connections, control, r.Bytes, traffic.ErrUnsupported)
	}
	upstream := r.Sender == e.hosts[0].Name
	client, server, err := e.roles(r.Sender, r.Receiver)
	if !upstream {
		client, server, err = e.roles(r.Receiver, r.Sender)
	}
	if err != nil {
		return out, err
	}
	tcp := astfTCP{MSS: mssOf(r.MTU), ReceiveBuffer: astfBuffer, SendBuffer: astfBuffer, KeepInit: int(bulkTimeout.Seconds()), Control: number}
	sending, buffers := sendAll(r.Bytes)
	receiving := astfProgram{[]params{astfReceive(r.Bytes)}}
	programs := [2]astfProgram{sending, receiving}
	if !upstream {
		programs = [2]astfProgram{receiving, sending}
	}
	samples, err := e.run(ctx, astfRequest{
		profile:  newASTFProfile(client, server, 1, 1, tcp, programs, buffers...),
		expected: time.Second, longest: bulkTimeout + time.Duration(float64(r.Bytes)/slowest*float64(time.Second)) + astfStall,
		done: func(s []astfSample) bool {
			last := s[len(s)-1]
			closed := e.number(last.Client, countClosed) > 0 && e.number(last.Server, countClosed) >= e.number(last.Server, countAccepts)
			return closed || e.stalled(s)
		},
	})
	if err != nil {
		return out, err
	}
	out = e.bulkOf(samples, upstream)
	out.Settings = workload.Settings{CongestionControl: control, MTU: r.MTU, SendBuffer: astfBuffer, ReceiveBuffer: astfBuffer}
	return out, nil
}

// sendAll returns the program that sends so many bytes, and its data.
func sendAll(bytes int64) (p astfProgram, buffers [][]byte) {
	if rest := bytes % astfPart; rest > 0 {
		p.Commands, buffers = append(p.Commands, astfSend(0)), append(buffers, randomBytes(int(rest), 1))
	}
	if times := bytes / astfPart; times > 0 {
		p.Commands = append(p.Commands, astfSet(times), astfSend(len(buffers)), astfRepeat())
		buffers = append(buffers, randomBytes(astfPart, 2))
	}
	return p, buffers
}

// stalled reports whether no byte arrived for too long.
func (e *ASTF) stalled(samples []astfSample) bool {
	last := samples[len(samples)-1]
	for i := len(samples) - 1; i >= 0; i-- {
		if e.sum(samples[i].ends, countReceived) != e.sum(last.ends, countReceived) {
			return false
		}
		if last.at.since(samples[i].at) > astfStall {
			return true
		}
	}
	return false
}

// bulkOf returns the data that was moved.
func (e *ASTF) bulkOf(samples []astfSample, upstream bool) (out workload.Bulk) {
	last := samples[len(samples)-1]
	from, to := last.Client, last.Server
	if !upstream {
		from, to = to, from
	}
	c := workload.BulkConnection{Sent: e.number(from, countSent), Received: e.number(to, countReceived)}
	c.TCP.Retransmissions, c.TCP.Timeouts = uint64(e.number(from, countAgain)), uint64(e.number(from, countTimeouts))
	if acked := e.number(from, countAcked); c.Sent != c.Received || acked < c.Received || e.sum(last.ends, countDrops, countEarlyDrops) > 0 {
		c.Problem = fmt.Sprintf("connection 1 was lost: %d of %d sent bytes arrived, and %d were acknowledged", c.Received, c.Sent, acked)
		for _, text := range e.faults(last.ends, faultTexts) {
			c.Problem += "; " + text
		}
	}
	out.Connections = []workload.BulkConnection{c}
	// From its establishment to its end.
	seconds := max(e.value(from, countDuration), e.value(to, countDuration))
	out.Took = time.Duration(seconds * float64(time.Second))
	out.Timeouts, out.Limits = c.TCP.Timeouts, limitsOf(samples)
	out.Limits.SoftnetDrops += uint64(e.sum(last.ends, limitCounters...))
	return out
}
