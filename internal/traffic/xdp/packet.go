package xdp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetSender sends through a packet socket, past the queueing discipline. It
// writes the same frames as the transmit program, and keeps the same counters.
type packetSender struct {
	port *port
	fd   int
	// buffers hold a frame each; headers and vectors point into them.
	buffers [][]byte
	vectors []unix.Iovec
	headers []mmsghdr
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	msg unix.Msghdr
	len uint32
	_   uint32
}

func newPacketSender(p *port) (*packetSender, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket: %w", err)
	}
	s := &packetSender{port: p, fd: fd}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		s.close()
		return nil, fmt.Errorf("bypassing the queueing discipline: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: p.index}); err != nil {
		s.close()
		return nil, fmt.Errorf("binding a packet socket: %w", err)
	}
	s.buffers = make([][]byte, batch)
	s.vectors = make([]unix.Iovec, batch)
	s.headers = make([]mmsghdr, batch)
	for i := range s.buffers {
		s.buffers[i] = make([]byte, p.longest())
		s.vectors[i].Base = &s.buffers[i][0]
		s.headers[i].msg.Iov = &s.vectors[i]
		s.headers[i].msg.Iovlen = 1
	}
	return s, nil
}

func (s *packetSender) close() error { return unix.Close(s.fd) }

// send implements transmitter. A frame that the device refused ends its batch:
// what was written behind it is refused too.
func (s *packetSender) send(n int) (taken int, err error) {
	plan := s.port.programs.port.Plan[:n]
	for len(plan) > 0 {
		part := plan[:min(len(plan), batch)]
		plan = plan[len(part):]
		sent, err := s.sendBatch(part)
		taken += sent
		atomic.AddUint64(&s.port.programs.port.Sent, uint64(sent)) // samples read it
		for _, slot := range part[sent:] {
			s.port.programs.streams[slot].takeBack()
			s.port.programs.port.Refused++
		}
		if err != nil || sent < len(part) {
			for _, slot := range plan { // the rest was not even written
				s.port.programs.streams[slot].Refused++
				s.port.programs.port.Refused++
			}
			return taken, err
		}
	}
	return taken, nil
}

func (s *packetSender) sendBatch(slots []uint32) (int, error) {
	for i, slot := range slots {
		t := &s.port.programs.streams[slot]
		s.vectors[i].SetLen(int(t.Len))
		t.write(s.buffers[i][:t.Len], uint64(monotonic()))
	}
	sent := 0
	for tries := 0; sent < len(slots); {
		r, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd),
			uintptr(unsafe.Pointer(&s.headers[sent])), uintptr(len(slots)-sent), 0, 0, 0)
		switch {
		case errno == 0:
			sent += int(r)
		case errno == unix.EINTR:
		case errors.Is(errno, unix.ENOBUFS) || errors.Is(errno, unix.EAGAIN):
			// The device's ring is full; let it drain, but do not hold the frames long.
			if tries++; tries > 3 {
				return sent, nil
			}
			time.Sleep(ringPause)
		default:
			return sent, fmt.Errorf("sending through a packet socket: %w", errno)
		}
	}
	return sent, nil
}
