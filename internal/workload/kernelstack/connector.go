package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// connector opens, verifies and closes the connections of a client, in one thread.
type connector struct {
	*host
	*thread
	run  *connections
	poll int
	all  []connection
	// first, lastBegin and lastEnd are the times of the phase at which connections began, and at which the last one succeeded.
	first, lastBegin, lastEnd time.Time
	// pending is the number of connections that have begun the phase and not ended it.
	pending int
	// err is an error of the host, which ends the phase.
	err error
}

// connection is an end of a connection at a client.
type connection struct {
	number, fd int
	server     *host
	port       int
	state      state
	outcome    outcome
	established,
	pending bool
	begun time.Time
	setUp time.Duration
	// note describes what was wrong.
	note string
	// turn is the number of the last request.
	turn uint32
}

type state uint8

const (
	idle state = iota
	connecting
	asking
	held
	closing
	ended
)

type outcome uint8

const (
	open outcome = iota
	refused
	timedOut
	reset
	unanswered
	wrong
	closed
	closeReset
	closeTimedOut
)

// phase describes an action on all connections.
type phase struct {
	begin   func(c *connector, one *connection)
	rate    float64
	timeout time.Duration
	start   time.Time
	// step and offset select the connections of a client.
	step, offset int
}

// due returns the time at which the n-th connection of a client begins.
func (p phase) due(n int) time.Time {
	if p.rate == 0 {
		return p.start
	}
	return p.start.Add(time.Duration(float64(n*p.step+p.offset) / p.rate * float64(time.Second)))
}

const (
	// unpacedAtOnce is the number of connections of a client that are begun together without a rate.
	unpacedAtOnce = 64
	// longestWait bounds the wait for events, so that a phase ends with its context.
	longestWait = 100 * time.Millisecond
	// eventsAtOnce is the number of events that are read at once.
	eventsAtOnce = 256
)

// transport has the actions on connections of a protocol.
type transport struct {
	// open begins a connection, and verify asks whether the device still has it.
	open, verify func(c *connector, one *connection)
	// finish closes a connection; nil if the protocol has no end.
	finish func(c *connector, one *connection)
	// missing describes what a connection waited for in vain; nil for nothing to describe.
	missing func(c *connector, one *connection) string
	// paced reports whether connections are verified at the rate at which they are opened: a burst could be lost, and is
	// not sent again.
	paced bool
	// oneSocket reports whether a server has one socket for all connections.
	oneSocket bool
	// event handles what has happened on a connection.
	event func(c *connector, one *connection, events uint32)
	// listen makes a host answer.
	listen func(run *connections, h *host) (replier, error)
}

// replier answers requests on a host.
type replier interface {
	// start begins to answer.
	start()
	// failed returns the error that ended the server, if any.
	failed() error
	close()
}

// add adds a connection to a server.
func (c *connector) add(number int, server *host, port int) {
	c.all = append(c.all, connection{number: number, fd: -1, server: server, port: port})
}

// start starts the thread of the client.
func (c *connector) start() (err error) {
	if c.thread, err = newThread(c.ns); err != nil {
		c.thread = nil
		return err
	}
	return c.do(func() (err error) {
		if c.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return fmt.Errorf("making an event queue: %w", err)
		}
		return nil
	})
}

// loop begins a phase of all connections, each when it is due, and waits for their ends.
func (c *connector) loop(ctx context.Context, p phase) error {
	c.first, c.lastBegin, c.lastEnd, c.pending = time.Time{}, time.Time{}, time.Time{}, 0
	events := make([]unix.EpollEvent, eventsAtOnce)
	next, oldest, begun := 0, 0, 0
	for c.err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		now := time.Now()
		for next < len(c.all) && c.err == nil {
			if c.all[next].state == ended {
				next++
				continue
			}
			if p.due(begun).After(now) || p.rate == 0 && c.pending >= unpacedAtOnce {
				break
			}
			c.begin(p, &c.all[next])
			next, begun = next+1, begun+1
		}
		for oldest < next && (!c.all[oldest].pending || now.Sub(c.all[oldest].begun) >= p.timeout) {
			if one := &c.all[oldest]; one.pending {
				c.run.event(c, one, 0) // The thread may be late, and the answer in the socket.
				if one.pending {
					c.expire(one)
				}
			}
			oldest++
		}
		if next == len(c.all) && c.pending == 0 {
			break
		}
		wait := longestWait
		if next < len(c.all) && p.rate > 0 {
			wait = min(wait, time.Until(p.due(begun)))
		}
		if oldest < next {
			wait = min(wait, time.Until(c.all[oldest].begun.Add(p.timeout)))
		}
		n, err := unix.EpollWait(c.poll, events, int(max(0, wait+time.Millisecond-1)/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for events: %w", err)
		}
		for _, e := range events[:max(0, n)] {
			c.run.event(c, &c.all[e.Fd], e.Events)
		}
	}
	return c.err
}

// begin begins the phase of a connection.
func (c *connector) begin(p phase, one *connection) {
	one.begun = time.Now()
	one.pending = true
	c.pending++
	if c.first.IsZero() {
		c.first = one.begun
	}
	c.lastBegin = one.begun
	p.begin(c, one)
}

// watch sets the events of a connection.
func (c *connector) watch(operation int, one *connection, events uint32) {
	place := int32((one.number) / len(c.run.clients))
	if err := unix.EpollCtl(c.poll, operation, one.fd, &unix.EpollEvent{Events: events, Fd: place}); err != nil {
		c.fail("watching a connection", err)
	}
}

// send sends the numbered request of the turn.
func (c *connector) send(one *connection) error {
	var request [messageBytes]byte
	message{run: c.run.id, turn: one.turn, number: uint32(one.number)}.put(request[:])
	n, err := unix.Write(one.fd, request[:])
	if err == nil && n != len(request) {
		err = fmt.Errorf("%d of %d bytes were sent", n, len(request))
	}
	return err
}

// fail ends the run: the host is the reason.
func (c *connector) fail(what string, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("client %s: %s: %w", c.address, what, err)
	}
}

// bindSocket makes the socket of a connection, of type SOCK_STREAM or SOCK_DGRAM, and reports whether it could.
func (c *connector) bindSocket(one *connection, kind int) bool {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.fail("making a socket", err)
		return false
	}
	one.fd, one.state = fd, connecting
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: c.address.As4(), Port: one.port}); err != nil {
		c.fail("binding "+c.name(one), err)
		return false
	}
	return true
}

// connect connects the socket of a connection to its server.
func (c *connector) connect(one *connection) error {
	return unix.Connect(one.fd, &unix.SockaddrInet4{Addr: one.server.address.As4(), Port: serverPort})
}

// hold ends the phase of a connection that had the right answer.
func (c *connector) hold(one *connection) {
	one.state = held
	c.over(one)
	c.lastEnd = time.Now()
}

// over ends the phase of a connection.
func (c *connector) over(one *connection) {
	if one.pending {
		one.pending = false
		c.pending--
	}
}

// refuse ends a connection that was not established.
func (c *connector) refuse(one *connection, err error) {
	switch {
	case errors.Is(err, unix.ETIMEDOUT):
		c.end(one, timedOut, "")
	case errors.Is(err, unix.EADDRINUSE), errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		c.fail("opening "+c.name(one), err)
	default:
		c.end(one, refused, err.Error())
	}
}

// expire ends a connection for which the time is over.
func (c *connector) expire(one *connection) {
	switch one.state {
	case connecting:
		c.end(one, timedOut, "")
	case closing:
		c.end(one, closeTimedOut, "")
	default:
		note := ""
		if c.run.missing != nil {
			note = c.run.missing(c, one)
		}
		c.end(one, unanswered, note)
	}
}

// end ends a connection. One that was closed in order is left to the kernel, and all others are reset.
func (c *connector) end(one *connection, how outcome, note string) {
	c.over(one)
	one.state, one.outcome, one.note = ended, how, note
	if how == closed {
		c.lastEnd = time.Now()
	} else {
		resetAtClose(one.fd)
	}
	_ = unix.Close(one.fd)
	one.fd = -1
}

// resetAtClose makes a socket reset its connection when it is closed: what is on its way is not sent again.
func resetAtClose(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// drop ends all connections that are still there, and the thread.
func (c *connector) drop() {
	if c.thread == nil {
		return
	}
	_ = c.do(func() error {
		for i := range c.all {
			if one := &c.all[i]; one.fd >= 0 {
				resetAtClose(one.fd)
			}
		}
		return nil
	})
	c.thread.close()
}

// name names a connection.
func (c *connector) name(one *connection) string {
	return fmt.Sprintf("connection %d from %s to %s", one.number+1, netip.AddrPortFrom(c.address, uint16(one.port)), netip.AddrPortFrom(one.server.address, serverPort))
}
