package kernelstack

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// overUDP opens and verifies connections of UDP. They have no end: the device forgets them after a time.
var overUDP = transport{
	open: (*connector).openUDP, verify: (*connector).awaitServer, event: (*connector).eventUDP, missing: (*connector).missingDatagram,
	paced: true, oneSocket: true,
	listen: func(run *connections, h *host) (replier, error) {
		r := &responder{run: run.id, host: h, sources: map[uint32]source{}}
		run.responders[h] = r
		return r, r.listen()
	},
}

// Turns of a connection of UDP. The server begins the second one: a request of the client would make a new entry in a device that has
// forgotten the connection.
const (
	turnOpen   = 1
	turnServer = 2
	turnAgain  = 3
)

// openUDP sends the first request of a connection. Its answer establishes it.
func (c *connector) openUDP(one *connection) {
	if !c.bindSocket(one, unix.SOCK_DGRAM) {
		return
	}
	one.turn = turnOpen
	if err := c.connect(one); err != nil {
		c.fail("opening "+c.name(one), err)
		return
	}
	c.watch(unix.EPOLL_CTL_ADD, one, unix.EPOLLIN)
	if err := c.send(one); err != nil {
		c.fail("sending on "+c.name(one), err)
	}
}

// awaitServer lets the server send a datagram to the address from which the first request came. It arrives if the device still has
// the entry.
func (c *connector) awaitServer(one *connection) {
	one.state, one.turn = asking, turnServer
	c.run.responders[one.server].probe(uint32(one.number))
}

// eventUDP reads a datagram of the server, or an ICMP error.
func (c *connector) eventUDP(one *connection, _ uint32) {
	var buffer [messageBytes]byte
	n, err := unix.Read(one.fd, buffer[:])
	switch {
	case errors.Is(err, unix.EAGAIN):
	case err != nil && one.state == connecting:
		c.refuse(one, err)
	case err != nil:
		c.end(one, reset, err.Error())
	case n == len(buffer):
		c.receive(one, take(buffer[:]))
	}
}

// receive checks a datagram of the server. Ones that the connection does not wait for are ignored: the network may repeat datagrams,
// and a device may have given the address of a forgotten connection to this one. The forgotten one then has no answer.
func (c *connector) receive(one *connection, m message) {
	waits := one.state == connecting || one.state == asking
	if !waits || m.run != c.run.id || m.number != uint32(one.number) || m.turn != one.turn {
		return
	}
	if one.state == connecting {
		one.established, one.setUp = true, time.Since(one.begun)
	}
	switch {
	case m.server != one.server.address:
		c.end(one, wrong, fmt.Sprintf("it came from server %s", m.server))
	case m.first != uint32(one.number):
		c.end(one, wrong, "a later request came from another address, and the first one from "+c.run.responders[one.server].describe(uint32(one.number)))
	case m.turn == turnServer:
		one.turn = turnAgain
		if err := c.send(one); err != nil {
			c.end(one, reset, fmt.Sprintf("sending a request: %v", err))
		}
	default:
		c.hold(one)
	}
}

// missingDatagram describes the datagram of the server for which a connection waited in vain; empty if it came.
func (c *connector) missingDatagram(one *connection) string {
	if one.turn == turnServer {
		return "the datagram of the server to " + c.run.responders[one.server].describe(uint32(one.number)) + " did not arrive: the device has no entry for it"
	}
	return ""
}
