package kernelstack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// serverPort is the TCP port of each server.
	serverPort = 5001
	// connectTime is the time that opening a connection may take.
	connectTime = 5 * time.Second
	// iterationTime is the time that an iteration may take: a retransmission timer that has expired often
	// waits for up to two minutes.
	iterationTime = 5 * time.Minute
	// requestBytes is the length of a request: the number of bytes that it asks for.
	requestBytes = 8
	// copyBytes is the size of the memory from which blocks are sent, and into which they are read.
	copyBytes = 1 << 18
)

// incast is an incast in hand.
type incast struct {
	request workload.IncastRequest
	client  *host
	servers []*server
}

// server is a host that sends blocks over one connection.
type server struct {
	*host
	listener net.Listener
	// near and far are the ends of the connection at the client and at the server.
	near, far *net.TCPConn
	buffer    []byte
	// begun has the time at which the server got the request of the iteration.
	begun chan time.Time
	// before are the counters of the connection before the first iteration.
	before         workload.Connection
	beforeTimeouts uint64
	// sentBefore and receivedBefore are the segments in the direction of the client before the first iteration.
	sentBefore, receivedBefore uint32
}

// Incast implements workload.Engine.
func (e *Engine) Incast(ctx context.Context, request workload.IncastRequest) (out workload.Incast, err error) {
	run := e.connected
	switch {
	case run == nil && request.Stateless != nil:
		return out, errLost
	case run == nil:
		run = &incast{request: request}
		defer func() { err = errors.Join(err, run.close()) }()
		if err := e.populate(ctx, run); err != nil {
			return out, err
		}
	case !reflect.DeepEqual(run.request, request):
		return out, errors.New("the hosts of another incast are connected: disconnect them first")
	}
	if out.Settings, err = e.settings(run); err != nil {
		return out, err
	}
	stop := interrupt.AtEnd(ctx, func() { run.deadline(time.Unix(1, 0)) })
	defer stop()
	if err := run.measure(ctx, &out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, err
	}
	out.Settings.SendBuffer, out.Settings.ReceiveBuffer, err = run.buffers()
	return out, err
}

// populate makes the hosts, and opens the connections.
func (e *Engine) populate(ctx context.Context, run *incast) error {
	r, used := run.request, map[netip.Addr]bool{}
	if len(r.Servers) == 0 || len(r.Blocks) == 0 || len(r.Blocks) > workload.MaxHosts {
		return fmt.Errorf("an incast of %d servers on %d ports was asked for: 1 to %d servers on at least one port are possible", len(r.Blocks), len(r.Servers), workload.MaxHosts)
	}
	add := func(name string) (*host, error) {
		made, err := e.newHosts(ctx, name, 1, r.MTU, used)
		if err != nil {
			return nil, err
		}
		return made[0], nil
	}
	var err error
	if run.client, err = add(r.Client); err != nil {
		return err
	}
	for i := range r.Blocks {
		h, err := add(r.Servers[i%len(r.Servers)])
		if err != nil {
			return err
		}
		s := &server{host: h, buffer: make([]byte, copyBytes), begun: make(chan time.Time, 1)}
		run.servers = append(run.servers, s)
		if err := s.open(ctx, run.client, r.CongestionControl); err != nil {
			return err
		}
	}
	return nil
}

// open opens the connection of a server.
func (s *server) open(ctx context.Context, client *host, control string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if s.listener, err = s.listen(ctx, control); err != nil {
		return fmt.Errorf("server %s: %w", s.address, err)
	}
	s.near, s.far, err = connect(ctx, party{"client", client}, party{"server", s.host}, s.listener, control)
	return err
}

// settings reads the settings that are in force.
func (e *Engine) settings(run *incast) (s workload.Settings, err error) {
	if s, err = e.hostSettings(run.hosts(), run.request.MTU); err != nil {
		return s, err
	}
	for _, one := range run.servers {
		err := control(one.far, func(fd int) error { return noteControl(&s, fd, run.request.CongestionControl) })
		if err != nil {
			return s, fmt.Errorf("reading the congestion control of server %s: %w", one.address, err)
		}
	}
	return s, nil
}

// buffers returns the largest buffers of the servers for sending and of the client for receiving.
func (run *incast) buffers() (send, receive int, err error) {
	largest := func(c *net.TCPConn, option int, size *int) error {
		return control(c, func(fd int) error {
			n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option)
			*size = max(*size, n)
			return err
		})
	}
	for _, s := range run.servers {
		if err := errors.Join(largest(s.far, unix.SO_SNDBUF, &send), largest(s.near, unix.SO_RCVBUF, &receive)); err != nil {
			return send, receive, fmt.Errorf("reading buffers of the connection to server %s: %w", s.address, err)
		}
	}
	return send, receive, nil
}

// measure runs all iterations.
func (run *incast) measure(ctx context.Context, out *workload.Incast) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	defer run.deadline(time.Unix(1, 0)) // which ends the servers
	for _, s := range run.servers {
		if err := s.count(); err != nil {
			return err
		}
		serving.Go(s.serve)
	}
	bytes, packets, err := run.client.received()
	if err != nil {
		return err
	}
	before, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	for n := range run.request.Iterations {
		completion, skew, err := run.iterate(ctx)
		if err != nil {
			return fmt.Errorf("iteration %d: %w", n+1, err)
		}
		out.Completions, out.Skews = append(out.Completions, completion), append(out.Skews, skew)
	}
	after, err := look()
	if err != nil {
		return fmt.Errorf("reading counters of processors: %w", err)
	}
	out.Limits = after.since(before)
	if out.ReceivedBytes, out.ReceivedPackets, err = run.client.received(); err != nil {
		return err
	}
	out.ReceivedBytes, out.ReceivedPackets = out.ReceivedBytes-bytes, out.ReceivedPackets-packets
	for _, s := range run.servers {
		c, err := s.counted()
		if err != nil {
			return err
		}
		out.Connections = append(out.Connections, c)
	}
	return nil
}

// iterate asks all servers for their blocks, and reads them.
func (run *incast) iterate(ctx context.Context) (completion, skew time.Duration, _ error) {
	run.deadline(time.Now().Add(iterationTime))
	if ctx.Err() != nil { // its end may have set the deadline before
		return 0, 0, context.Cause(ctx)
	}
	var reading sync.WaitGroup
	ends, errs := make([]time.Time, len(run.servers)), make([]error, len(run.servers))
	for i, s := range run.servers {
		reading.Go(func() {
			errs[i] = s.read(run.request.Blocks[i])
			ends[i] = time.Now()
		})
	}
	begin := time.Now()
	for i, s := range run.servers {
		var request [requestBytes]byte
		binary.BigEndian.PutUint64(request[:], uint64(run.request.Blocks[i]))
		if _, err := s.near.Write(request[:]); err != nil {
			run.deadline(time.Unix(1, 0))
			reading.Wait()
			return 0, 0, fmt.Errorf("asking server %s: %w", s.address, err)
		}
	}
	reading.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	var first, last time.Time
	for _, s := range run.servers {
		begun := <-s.begun
		if first.IsZero() || begun.Before(first) {
			first = begun
		}
		if begun.After(last) {
			last = begun
		}
	}
	return slices.MaxFunc(ends, time.Time.Compare).Sub(begin), last.Sub(first), nil
}

// read reads a block at the client.
func (s *server) read(bytes int64) error {
	for left := bytes; left > 0; {
		n, err := s.near.Read(s.buffer[:min(left, copyBytes)])
		if left -= int64(n); err != nil && left > 0 {
			return fmt.Errorf("server %s on port %s: %d of %d bytes have arrived: %w", s.address, s.port, bytes-left, bytes, err)
		}
	}
	return nil
}

// nothing is sent in all blocks.
var nothing = make([]byte, copyBytes)

// serve sends blocks until the connection ends. The client misses the bytes that are not sent.
func (s *server) serve() {
	var request [requestBytes]byte
	for {
		if _, err := io.ReadFull(s.far, request[:]); err != nil {
			return
		}
		s.begun <- time.Now()
		for left := int64(binary.BigEndian.Uint64(request[:])); left > 0; {
			n, err := s.far.Write(nothing[:min(left, copyBytes)])
			if left -= int64(n); err != nil {
				return
			}
		}
	}
}

// count reads the counters of the connection before the first iteration.
func (s *server) count() (err error) {
	if s.beforeTimeouts, err = s.timeouts(); err != nil {
		return err
	}
	if s.sentBefore, s.receivedBefore, err = s.segments(); err != nil {
		return err
	}
	return control(s.far, func(fd int) error {
		s.before, err = tcpInfo(fd)
		return err
	})
}

// counted returns the counters of the connection over all iterations.
func (s *server) counted() (c workload.Connection, err error) {
	err = control(s.far, func(fd int) error {
		c, err = tcpInfo(fd)
		return err
	})
	if err != nil {
		return c, err
	}
	all, err := s.timeouts()
	c.Retransmissions -= s.before.Retransmissions
	c.Busy -= s.before.Busy
	c.WindowLimited -= s.before.WindowLimited
	c.Timeouts = all - s.beforeTimeouts
	return c, err
}

// hosts returns all hosts of the incast.
func (run *incast) hosts() (all []*host) {
	if run.client != nil {
		all = append(all, run.client)
	}
	for _, s := range run.servers {
		all = append(all, s.host)
	}
	return all
}

// deadline ends reads and writes of all connections at a time.
func (run *incast) deadline(at time.Time) {
	for _, s := range run.servers {
		setDeadlines(at, s.near, s.far)
	}
}

// close ends all connections, and removes the hosts.
func (run *incast) close() error {
	var errs []error
	for _, s := range run.servers {
		closeAtOnce(s.near, s.far)
		if s.listener != nil {
			_ = s.listener.Close()
		}
	}
	for _, h := range run.hosts() {
		errs = append(errs, h.close())
	}
	return errors.Join(errs...)
}
