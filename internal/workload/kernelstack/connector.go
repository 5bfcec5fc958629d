package kernelstack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/workload"
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
			if c.all[oldest].pending {
				c.expire(&c.all[oldest])
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
			c.event(&c.all[e.Fd], e.Events)
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

// open sends the first packet of a connection.
func (c *connector) open(one *connection) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.fail("making a socket", err)
		return
	}
	one.fd, one.state = fd, connecting
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: c.address.As4(), Port: one.port}); err != nil {
		c.fail("binding "+c.name(one), err)
		return
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Addr: one.server.address.As4(), Port: serverPort})
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		c.refuse(one, err)
		return
	}
	c.watch(unix.EPOLL_CTL_ADD, one, unix.EPOLLOUT)
}

// watch sets the events of a connection.
func (c *connector) watch(operation int, one *connection, events uint32) {
	place := int32((one.number) / len(c.run.clients))
	if err := unix.EpollCtl(c.poll, operation, one.fd, &unix.EpollEvent{Events: events, Fd: place}); err != nil {
		c.fail("watching a connection", err)
	}
}

// fail ends the run: the host is the reason.
func (c *connector) fail(what string, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("client %s: %s: %w", c.address, what, err)
	}
}

// askAgain sends the request that is answered if the device still has the connection.
func (c *connector) askAgain(one *connection) { c.ask(one, 2) }

// ask sends a numbered request.
func (c *connector) ask(one *connection, turn uint32) {
	one.state, one.turn = asking, turn
	var request [messageBytes]byte
	message{run: c.run.id, turn: turn, number: uint32(one.number)}.put(request[:])
	if n, err := unix.Write(one.fd, request[:]); err != nil || n != len(request) {
		c.end(one, reset, fmt.Sprintf("sending a request: %v", err))
		return
	}
}

// finish closes the connection at the client; it ends when the server has closed it, too.
func (c *connector) finish(one *connection) {
	one.state = closing
	if err := unix.Shutdown(one.fd, unix.SHUT_WR); err != nil {
		c.end(one, closeReset, err.Error())
	}
}

// event handles what has happened on a connection.
func (c *connector) event(one *connection, events uint32) {
	switch one.state {
	case connecting:
		code, err := unix.GetsockoptInt(one.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			c.fail("reading the state of a connection", err)
		case code != 0:
			c.refuse(one, unix.Errno(code))
		case events&unix.EPOLLOUT != 0:
			one.established, one.setUp = true, time.Since(one.begun)
			c.watch(unix.EPOLL_CTL_MOD, one, unix.EPOLLIN|unix.EPOLLRDHUP)
			c.ask(one, 1)
		}
	case asking, held:
		c.read(one)
	case closing:
		var buffer [messageBytes]byte
		n, err := unix.Read(one.fd, buffer[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil:
			c.end(one, closeReset, err.Error())
		case n == 0:
			c.end(one, closed, "")
		}
	}
}

// read reads and checks an answer.
func (c *connector) read(one *connection) {
	var buffer [messageBytes]byte
	n, _, err := unix.Recvfrom(one.fd, buffer[:], unix.MSG_PEEK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return
	case err != nil:
		c.end(one, reset, err.Error())
		return
	case n == 0:
		c.end(one, reset, "the server or the device closed it")
		return
	case n < len(buffer):
		return
	}
	if _, err := unix.Read(one.fd, buffer[:]); err != nil {
		c.end(one, reset, err.Error())
		return
	}
	if one.state == held {
		c.end(one, wrong, "an answer without a request")
		return
	}
	answer := take(buffer[:])
	switch {
	case answer.run != c.run.id || answer.turn != one.turn || answer.number != uint32(one.number) || answer.first != uint32(one.number):
		c.end(one, wrong, fmt.Sprintf("it was that of connection %d", answer.number+1))
	case answer.server != one.server.address:
		c.end(one, wrong, fmt.Sprintf("it came from server %s", answer.server))
	default:
		one.state = held
		c.over(one)
		c.lastEnd = time.Now()
	}
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
		c.end(one, unanswered, "")
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

// summarize counts the connections by their ends.
func (run *connections) summarize(out *workload.Connections) {
	for n := range run.request.Connections {
		c := run.clients[n%len(run.clients)]
		one := &c.all[n/len(run.clients)]
		out.Attempted++
		if one.established {
			out.Established++
			out.SetUps = append(out.SetUps, one.setUp)
		}
		counter, what := counterOf(out, one.outcome)
		*counter++
		if one.outcome != closed && *counter == 1 {
			text := c.name(one) + " " + what
			if one.note != "" {
				text += ": " + one.note
			}
			out.Examples = append(out.Examples, text)
		}
	}
	out.Verified = out.Closed + out.CloseReset + out.CloseTimedOut
}

// counterOf returns the counter of an end, and describes it.
func counterOf(out *workload.Connections, how outcome) (*int64, string) {
	switch how {
	case refused:
		return &out.Refused, "was refused"
	case timedOut:
		return &out.TimedOut, "was not established in time"
	case reset:
		return &out.Reset, "ended before it was closed"
	case unanswered:
		return &out.Unanswered, "had no answer in time"
	case wrong:
		return &out.Wrong, "had a wrong answer"
	case closeReset:
		return &out.CloseReset, "was reset while it was closed"
	case closeTimedOut:
		return &out.CloseTimedOut, "was not closed in time"
	}
	return &out.Closed, "was closed"
}

// message is a request or its answer.
type message struct {
	run          uint64
	turn, number uint32
	// first is the number of the first request on the connection, and server the address of the server, in answers.
	first  uint32
	server netip.Addr
}

// messageBytes is the length of requests and answers.
const messageBytes = 24

func (m message) put(b []byte) {
	binary.BigEndian.PutUint64(b, m.run)
	binary.BigEndian.PutUint32(b[8:], m.turn)
	binary.BigEndian.PutUint32(b[12:], m.number)
	binary.BigEndian.PutUint32(b[16:], m.first)
	if m.server.Is4() {
		copy(b[20:], m.server.AsSlice())
	}
}

func take(b []byte) message {
	return message{
		run: binary.BigEndian.Uint64(b), turn: binary.BigEndian.Uint32(b[8:]), number: binary.BigEndian.Uint32(b[12:]),
		first: binary.BigEndian.Uint32(b[16:]), server: netip.AddrFrom4([4]byte(b[20:24])),
	}
}
