package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// answerTime is the time that one read or write may take: a retransmission timer that has expired often waits for
// up to two minutes.
const answerTime = 5 * time.Minute

// dialog is a client and a server with a connection between them, which stays open.
type dialog struct {
	client, server *host
	near, far      end
}

// end is an end of a connection. Its reads and writes block a thread of the kernel: the poller of Go would add the time
// until it wakes up to each round trip.
type end struct {
	file *os.File
	fd   int
}

// connect opens the connection.
func (d *dialog) connect(ctx context.Context, control string) (err error) {
	s := &server{host: d.server}
	err = s.open(ctx, d.client, control)
	if s.listener != nil {
		err = errors.Join(err, s.listener.Close())
	}
	for _, side := range []struct {
		conn *net.TCPConn
		end  *end
	}{{s.near, &d.near}, {s.far, &d.far}} {
		if side.conn != nil {
			err = errors.Join(err, side.end.take(side.conn))
		}
	}
	return err
}

func (e *end) take(c *net.TCPConn) (err error) {
	e.file, err = c.File() // a duplicate
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("taking a connection over: %w", err)
	}
	e.fd = int(e.file.Fd())
	limit := unix.NsecToTimeval(answerTime.Nanoseconds())
	for _, err := range []error{
		unix.SetNonblock(e.fd, false),
		unix.SetsockoptTimeval(e.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(e.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
		unix.SetsockoptInt(e.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
	} {
		if err != nil {
			return fmt.Errorf("preparing a connection: %w", err)
		}
	}
	return nil
}

// send writes all bytes.
func (e *end) send(bytes []byte) error {
	for len(bytes) > 0 {
		n, err := unix.Write(e.fd, bytes)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		bytes = bytes[max(n, 0):]
	}
	return nil
}

// receive fills a buffer.
func (e *end) receive(bytes []byte) error {
	for len(bytes) > 0 {
		n, err := unix.Read(e.fd, bytes)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		default:
			bytes = bytes[n:]
		}
	}
	return nil
}

// pin binds the calling thread to the processor of requests. Client and servers share it: a response then wakes the
// client up on a processor that is awake. To wake another one up takes a virtual machine longer than a request.
func pin() error {
	n, err := processorOfRequests()
	if err != nil {
		return err
	}
	var one unix.CPUSet
	one.Set(n)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("binding a thread to processor %d: %w", n, err)
	}
	return nil
}

// processorOfRequests returns the last processor that the calling thread may use.
func processorOfRequests() (last int, _ error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return 0, fmt.Errorf("reading the processors of a thread: %w", err)
	}
	for n, left := 0, may.Count(); left > 0; n++ {
		if may.IsSet(n) {
			last, left = n, left-1
		}
	}
	return last, nil
}

// ask sends a number of requests, each once the response to the one before has arrived, and returns the round-trip
// times.
func (d *dialog) ask(bytes, requests int) ([]time.Duration, error) {
	times := make([]time.Duration, requests)
	buffer := make([]byte, bytes)
	for i := range times {
		begin := time.Now()
		err := d.near.send(buffer)
		if err == nil {
			err = d.near.receive(buffer)
		}
		times[i] = time.Since(begin)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil, fmt.Errorf("request %d of client %s: server %s has not answered within %s", i+1, d.client.address, d.server.address, answerTime)
		case err != nil:
			return nil, fmt.Errorf("request %d of client %s to server %s: %w", i+1, d.client.address, d.server.address, err)
		}
	}
	return times, nil
}

// serve answers requests until the connection ends. The client misses an answer that is not sent.
func (d *dialog) serve(bytes int) error {
	runtime.LockOSThread() // ends with the goroutine
	if err := pin(); err != nil {
		return err
	}
	buffer := make([]byte, bytes)
	for d.far.receive(buffer) == nil && d.far.send(buffer) == nil {
	}
	return nil
}

// retransmissions returns the number of segments that both hosts sent again.
func (d *dialog) retransmissions() (n uint64, _ error) {
	for _, e := range []end{d.near, d.far} {
		c, err := tcpInfo(e.fd)
		if err != nil {
			return 0, err
		}
		n += c.Retransmissions
	}
	return n, nil
}

// interrupt ends reads and writes.
func (d *dialog) interrupt() {
	for _, e := range []end{d.near, d.far} {
		if e.file != nil {
			_ = unix.Shutdown(e.fd, unix.SHUT_RDWR)
		}
	}
}

// close ends the connection, and removes the hosts.
func (d *dialog) close() error {
	if d == nil {
		return nil
	}
	d.hangUp()
	return errors.Join(d.client.close(), d.server.close())
}

// hangUp ends the connection. The hosts stay.
func (d *dialog) hangUp() {
	for _, e := range []end{d.near, d.far} {
		if e.file != nil {
			resetAtClose(e.fd)
			_ = e.file.Close()
		}
	}
}
