package kernelstack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"nodrop.dev/nodrop/internal/base/netif"
)

// responder answers the requests of UDP of a server, and sends datagrams to the addresses from which they came.
type responder struct {
	*host
	run     uint64
	conn    *net.UDPConn
	probes  chan uint32
	serving sync.WaitGroup
	mutex   sync.Mutex
	// sources are the addresses of the first requests by their numbers, as the device has translated them.
	sources map[uint32]source
	err     error
}

// source is an address with its port.
type source = netip.AddrPort

const (
	// responderBuffer is the size of the receive buffer of a server in bytes.
	responderBuffer = 8 << 20
	// probesAtOnce is the number of datagrams that wait to be sent.
	probesAtOnce = 1024
	// noFirst is the number in the answer to a request that came from another address than the first one.
	noFirst = ^uint32(0)
)

// listen makes the socket of the server.
func (r *responder) listen() error {
	r.probes = make(chan uint32, probesAtOnce)
	return netif.In(r.ns, func() (err error) {
		if r.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: r.address.AsSlice(), Port: serverPort}); err != nil {
			return err
		}
		return setReceiveBuffer(r.conn, responderBuffer)
	})
}

// start begins to answer.
func (r *responder) start() {
	r.serving.Go(r.serve)
	r.serving.Go(func() {
		for number := range r.probes {
			r.send(message{run: r.run, turn: turnServer, number: number, first: number}, r.source(number))
		}
	})
}

// serve answers requests until the socket is closed.
func (r *responder) serve() {
	var buffer [messageBytes + 1]byte
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(buffer[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			r.fail(fmt.Errorf("receiving at server %s: %w", r.address, err))
			return
		}
		if n != messageBytes {
			continue
		}
		if request := take(buffer[:]); request.run == r.run {
			r.answer(request, from)
		}
	}
}

// answer answers a request. The answer names the connection whose first request came from the same address.
func (r *responder) answer(request message, from source) {
	r.mutex.Lock()
	first, known := r.sources[request.number]
	if !known && request.turn == turnOpen {
		first = from
		r.sources[request.number] = from
	}
	r.mutex.Unlock()
	request.first = request.number
	if from != first {
		request.first = noFirst
	}
	r.send(request, from)
}

// send sends a message of the server.
func (r *responder) send(m message, to source) {
	m.server = r.address
	var buffer [messageBytes]byte
	m.put(buffer[:])
	if _, err := r.conn.WriteToUDPAddrPort(buffer[:], to); err != nil && !errors.Is(err, net.ErrClosed) {
		r.fail(fmt.Errorf("sending from server %s to %s: %w", r.address, to, err))
	}
}

// probe sends a datagram to the address from which the first request of a connection came.
func (r *responder) probe(number uint32) { r.probes <- number }

// source returns the address from which the first request of a connection came.
func (r *responder) source(number uint32) source {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.sources[number]
}

// describe returns this address for a message.
func (r *responder) describe(number uint32) string { return r.source(number).String() }

// fail notes the first error.
func (r *responder) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// failed returns the first error, if any.
func (r *responder) failed() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}

// close ends the server.
func (r *responder) close() {
	if r.conn == nil {
		return
	}
	close(r.probes)
	_ = r.conn.Close()
	r.serving.Wait()
}
