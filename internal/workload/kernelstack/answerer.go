package kernelstack

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// answerer answers the requests of a server, in one thread.
type answerer struct {
	*host
	*thread
	run            uint64
	poll, listener int
	// peers are the connections by their sockets.
	peers   map[int]*peer
	serving sync.WaitGroup
	ending  atomic.Bool
	mutex   sync.Mutex
	err     error
}

// peer is an end of a connection at a server.
type peer struct {
	// first is the number of the first request, once it has come.
	first uint32
	begun bool
}

// backlog is the number of connections of a server that may wait to be accepted.
const backlog = 65535

// listen starts the thread of the server, and listens.
func (a *answerer) listen() (err error) {
	if a.thread, err = newThread(a.ns); err != nil {
		a.thread = nil
		return err
	}
	return a.do(func() (err error) {
		if a.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return fmt.Errorf("making an event queue: %w", err)
		}
		if a.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err := unix.Bind(a.listener, &unix.SockaddrInet4{Addr: a.address.As4(), Port: serverPort}); err != nil {
			return err
		}
		if err := unix.Listen(a.listener, backlog); err != nil {
			return err
		}
		return a.watch(a.listener)
	})
}

func (a *answerer) watch(fd int) error {
	if err := unix.EpollCtl(a.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

// start begins to answer.
func (a *answerer) start() {
	a.serving.Go(func() {
		err := a.do(a.serve)
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.err = err
	})
}

// failed returns the error that ended the server, if any.
func (a *answerer) failed() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.err
}

// serve accepts connections and answers requests until the answerer is closed.
func (a *answerer) serve() error {
	events := make([]unix.EpollEvent, eventsAtOnce)
	for !a.ending.Load() {
		n, err := unix.EpollWait(a.poll, events, int(longestWait/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for events at server %s: %w", a.address, err)
		}
		for _, e := range events[:max(0, n)] {
			fd := int(e.Fd)
			switch {
			case fd == a.listener:
				if err := a.accept(); err != nil {
					return fmt.Errorf("accepting connections at server %s: %w", a.address, err)
				}
			case !a.answer(fd):
				delete(a.peers, fd)
				_ = unix.Close(fd)
			}
		}
	}
	return nil
}

// accept accepts all connections that wait.
func (a *answerer) accept() error {
	for {
		fd, _, err := unix.Accept4(a.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		a.peers[fd] = &peer{}
		if err := a.watch(fd); err != nil {
			return err
		}
	}
}

// answer answers a request, and reports whether the connection goes on.
func (a *answerer) answer(fd int) bool {
	var buffer [messageBytes]byte
	n, _, err := unix.Recvfrom(fd, buffer[:], unix.MSG_PEEK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true
	case err != nil || n <= 0:
		return false
	case n < len(buffer):
		return true // The rest comes.
	}
	if _, err := unix.Read(fd, buffer[:]); err != nil {
		return false
	}
	request, p := take(buffer[:]), a.peers[fd]
	if request.run != a.run {
		return false
	}
	if !p.begun {
		p.first, p.begun = request.number, true
	}
	request.first, request.server = p.first, a.address
	request.put(buffer[:])
	n, err = unix.Write(fd, buffer[:])
	return err == nil && n == len(buffer)
}

// close ends all connections, and the thread.
func (a *answerer) close() {
	if a.thread == nil {
		return
	}
	a.ending.Store(true)
	a.serving.Wait()
	_ = a.do(func() error {
		for fd := range a.peers {
			resetAtClose(fd)
		}
		return nil
	})
	a.thread.close()
}
