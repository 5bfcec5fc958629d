package kernelstack

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/workload"
)

// overUDP opens and verifies connections of UDP. They have no end: the device forgets them after a time.
var overUDP = transport{
	open: (*connector).openUDP, verify: (*connector).awaitServer, event: (*connector).eventUDP,
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
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.fail("making a socket", err)
		return
	}
	one.fd, one.state, one.turn = fd, connecting, turnOpen
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: c.address.As4(), Port: one.port}); err != nil {
		c.fail("binding "+c.name(one), err)
		return
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: one.server.address.As4(), Port: serverPort}); err != nil {
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
		one.state = held
		c.over(one)
		c.lastEnd = time.Now()
	}
}

// missing describes the datagram for which a connection waited in vain.
func (c *connector) missing(one *connection) string {
	if c.run.request.Protocol == workload.UDP && one.turn == turnServer {
		return "the datagram of the server to " + c.run.responders[one.server].describe(uint32(one.number)) + " did not arrive: the device has no entry for it"
	}
	return ""
}
