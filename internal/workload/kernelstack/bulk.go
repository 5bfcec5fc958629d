package kernelstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// bulkPart is the number of bytes that a connection takes from a data set at once.
	bulkPart = 1 << 17
	// stallTime is the time without a byte after which a connection is lost.
	stallTime = time.Minute
)

// bulkData returns the bytes that senders send: random ones, which no device makes smaller.
var bulkData = sync.OnceValue(func() []byte {
	data := make([]byte, bulkPart)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	return data
})

// bulk is data in hand.
type bulk struct {
	request          workload.BulkRequest
	engine           *Engine
	sender, receiver *host
	stall            time.Duration
	// begun is called once data is sent. It may be nil.
	begun func()
	flows []*bulkFlow
	// left is the number of bytes of the data set that no connection has taken, and until the end of a duration.
	left  atomic.Int64
	until time.Time
}

// bulkFlow is a connection. Its near end sends.
type bulkFlow struct {
	dialog
	sent, received atomic.Int64
	// last is the time of the last byte that was received.
	last time.Time
	// sending and receiving are the processor times of its threads, and sendErr and receiveErr the reasons for which they ended early.
	sending, receiving  time.Duration
	sendErr, receiveErr error
}

// Bulk implements workload.Engine.
func (e *Engine) Bulk(ctx context.Context, request workload.BulkRequest) (out workload.Bulk, err error) {
	run, err := e.newBulk(ctx, request)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, run.close()) }()
	return run.move(ctx)
}

// newBulk makes sender and receiver.
func (e *Engine) newBulk(ctx context.Context, r workload.BulkRequest) (run *bulk, err error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	run = &bulk{request: r, engine: e, stall: stallTime}
	used := map[netip.Addr]bool{}
	for _, side := range []struct {
		port string
		host **host
	}{{r.Sender, &run.sender}, {r.Receiver, &run.receiver}} {
		made, err := e.newHosts(ctx, side.port, 1, r.MTU, used)
		if err != nil {
			return nil, errors.Join(err, run.close())
		}
		*side.host = made[0]
	}
	return run, nil
}

// move opens all connections, sends the data over them, and closes them.
func (run *bulk) move(ctx context.Context) (out workload.Bulk, err error) {
	defer run.hangUp()
	if err := run.connect(ctx); err != nil {
		return out, err
	}
	if out.Settings, err = run.settings(); err != nil {
		return out, err
	}
	stop := interrupt.AtEnd(ctx, run.interrupt)
	defer stop()
	timeouts, err := run.sender.timeouts()
	if err != nil {
		return out, err
	}
	before, err := look()
	if err != nil {
		return out, fmt.Errorf("reading counters of processors: %w", err)
	}
	begin := run.transfer()
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	after, err := look()
	if err != nil {
		return out, fmt.Errorf("reading counters of processors: %w", err)
	}
	out.Limits = after.since(before)
	all, err := run.sender.timeouts()
	if err != nil {
		return out, err
	}
	out.Timeouts = all - timeouts
	for n, f := range run.flows {
		c, err := f.result(n)
		if err != nil {
			return out, err
		}
		out.Connections = append(out.Connections, c)
		out.Took = max(out.Took, f.last.Sub(begin))
	}
	out.Settings.SendBuffer, out.Settings.ReceiveBuffer, err = run.buffers()
	return out, err
}

// connect opens all connections.
func (run *bulk) connect(ctx context.Context) error {
	limit := unix.NsecToTimeval(run.stall.Nanoseconds())
	for n := range run.request.Connections {
		f := &bulkFlow{dialog: dialog{client: run.sender, server: run.receiver}}
		run.flows = append(run.flows, f)
		if err := f.connect(ctx, run.request.CongestionControl); err != nil {
			return fmt.Errorf("connection %d: %w", n+1, err)
		}
		for _, err := range []error{
			unix.SetsockoptTimeval(f.near.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
			unix.SetsockoptTimeval(f.far.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
			unix.SetsockoptInt(f.near.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0), // or each part would end with a short segment
		} {
			if err != nil {
				return fmt.Errorf("preparing connection %d: %w", n+1, err)
			}
		}
	}
	return nil
}

// transfer sends the data over all connections at once, each with a thread at both ends, and returns when it began.
func (run *bulk) transfer() time.Time {
	var ready, ended sync.WaitGroup
	start := make(chan struct{})
	each := func(f func() error, used *time.Duration, failed *error) {
		ready.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // ends with the goroutine
			ready.Done()
			<-start
			before := threadTime()
			*failed = f()
			*used = threadTime() - before
		})
	}
	for _, f := range run.flows {
		each(f.drain, &f.receiving, &f.receiveErr)
		each(func() error { return f.fill(run.take) }, &f.sending, &f.sendErr)
	}
	ready.Wait()
	begin := time.Now()
	run.left.Store(run.request.Bytes)
	run.until = begin.Add(run.request.Duration)
	close(start)
	if run.begun != nil {
		run.begun()
	}
	ended.Wait()
	return begin
}

// take returns the number of bytes that a connection sends next, which is 0 at the end of the data.
func (run *bulk) take() int64 {
	if run.request.Duration > 0 {
		if time.Now().Before(run.until) {
			return bulkPart
		}
		return 0
	}
	return max(0, bulkPart+min(0, run.left.Add(-bulkPart)))
}

// threadTime returns the processor time that the calling thread has used.
func threadTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fill sends data until there is none left, and ends its direction of the connection.
func (f *bulkFlow) fill(take func() int64) error {
	defer func() { _ = unix.Shutdown(f.near.fd, unix.SHUT_WR) }()
	for {
		left := take()
		if left == 0 {
			return nil
		}
		for left > 0 {
			n, err := unix.Write(f.near.fd, bulkData()[:left])
			if err != nil && !errors.Is(err, unix.EINTR) {
				f.interrupt() // the receiver waits for no more
				return err
			}
			left -= int64(max(n, 0))
			f.sent.Add(int64(max(n, 0)))
		}
	}
}

// drain receives data until the sender has ended its direction.
func (f *bulkFlow) drain() error {
	buffer := make([]byte, bulkPart)
	for {
		n, err := unix.Read(f.far.fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			f.interrupt() // the sender waits for no room
			return err
		case n == 0:
			return nil
		default:
			f.received.Add(int64(n))
			f.last = time.Now()
		}
	}
}

// result returns the counts of a connection.
func (f *bulkFlow) result(n int) (c workload.BulkConnection, err error) {
	c = workload.BulkConnection{Sent: f.sent.Load(), Received: f.received.Load(), SenderCPU: f.sending, ReceiverCPU: f.receiving}
	if c.TCP, err = tcpInfo(f.near.fd); err != nil {
		return c, err
	}
	failed := cmp.Or(f.receiveErr, f.sendErr) // the receiver ends the sender, which then has another reason
	if failed == nil && c.Sent == c.Received {
		return c, nil
	}
	c.Problem = fmt.Sprintf("connection %d was lost: %d of %d sent bytes arrived", n+1, c.Received, c.Sent)
	switch {
	case errors.Is(failed, unix.EAGAIN):
		c.Problem += ": it was without a byte for too long"
	case failed != nil:
		c.Problem += ": " + failed.Error()
	}
	return c, nil
}

// settings reads the settings that are in force.
func (run *bulk) settings() (s workload.Settings, err error) {
	if s, err = run.engine.hostSettings([]*host{run.sender, run.receiver}, run.request.MTU); err != nil {
		return s, err
	}
	for _, f := range run.flows {
		if err := noteControl(&s, f.near.fd, run.request.CongestionControl); err != nil {
			return s, fmt.Errorf("reading the congestion control of the sender: %w", err)
		}
	}
	return s, nil
}

// buffers returns the largest buffers of the sender for sending and of the receiver for receiving.
func (run *bulk) buffers() (send, receive int, err error) {
	for _, f := range run.flows {
		s, failed := unix.GetsockoptInt(f.near.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		r, err := unix.GetsockoptInt(f.far.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		if err = errors.Join(failed, err); err != nil {
			return send, receive, fmt.Errorf("reading buffers of a connection: %w", err)
		}
		send, receive = max(send, s), max(receive, r)
	}
	return send, receive, nil
}

// interrupt ends reads and writes of all connections.
func (run *bulk) interrupt() {
	for _, f := range run.flows {
		f.interrupt()
	}
}

// hangUp closes all connections. The hosts stay.
func (run *bulk) hangUp() {
	for _, f := range run.flows {
		f.hangUp()
	}
	run.flows = nil
}

// close removes the hosts.
func (run *bulk) close() error {
	return errors.Join(run.sender.close(), run.receiver.close())
}
