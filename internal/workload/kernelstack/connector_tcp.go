package kernelstack

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// overTCP opens, verifies and closes connections of TCP.
var overTCP = transport{
	open: (*connector).openTCP, verify: (*connector).askAgain, finish: (*connector).finish, event: (*connector).eventTCP,
	listen: func(run *connections, h *host) (replier, error) {
		a := &answerer{run: run.id, host: h, peers: map[int]*peer{}}
		return a, a.listen()
	},
}

// openTCP sends the first packet of a connection.
func (c *connector) openTCP(one *connection) {
	if !c.bindSocket(one, unix.SOCK_STREAM) {
		return
	}
	if err := c.connect(one); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		c.refuse(one, err)
		return
	}
	c.watch(unix.EPOLL_CTL_ADD, one, unix.EPOLLOUT)
}

// askAgain sends the request that is answered if the device still has the connection.
func (c *connector) askAgain(one *connection) { c.ask(one, 2) }

// ask sends a numbered request.
func (c *connector) ask(one *connection, turn uint32) {
	one.state, one.turn = asking, turn
	if err := c.send(one); err != nil {
		c.end(one, reset, fmt.Sprintf("sending a request: %v", err))
	}
}

// finish closes the connection at the client; it ends when the server has closed it, too.
func (c *connector) finish(one *connection) {
	one.state = closing
	if err := unix.Shutdown(one.fd, unix.SHUT_WR); err != nil {
		c.end(one, closeReset, err.Error())
	}
}

// eventTCP handles what has happened on a connection.
func (c *connector) eventTCP(one *connection, events uint32) {
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
		c.hold(one)
	}
}
