package xdp

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// packetBatch is how many frames one system call gives to a packet socket: a quarter
	// of a veth's ring of 256.
	packetBatch = 64
	// packetQuantum is the shortest time between two wake-ups of a sender through a
	// packet socket: frames that are due within it go together.
	packetQuantum = 100 * time.Microsecond
	// packetPause is how long a sender through a packet socket waits for a device whose
	// ring is full.
	packetPause = 50 * time.Microsecond
)

// packetSender sends through a packet socket, past the queueing discipline. It
// writes the same frames as the transmit program, and keeps the same counters.
type packetSender struct {
	lane *lane
	fd   int
	// buffers hold a frame each; headers and vectors point into them.
	buffers [][]byte
	vectors []unix.Iovec
	headers []mmsghdr
	// bodies by their number.
	bodies [][]byte
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	msg unix.Msghdr
	len uint32
	_   uint32
}

func newPacketSender(l *lane) (*packetSender, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket: %w", err)
	}
	s := &packetSender{lane: l, fd: fd}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		s.close()
		return nil, fmt.Errorf("bypassing the queueing discipline: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: l.port.index}); err != nil {
		s.close()
		return nil, fmt.Errorf("binding a packet socket: %w", err)
	}
	for _, b := range l.port.engine.bodies {
		s.bodies = append(s.bodies, b.bytes())
	}
	s.buffers = make([][]byte, packetBatch)
	s.vectors = make([]unix.Iovec, packetBatch)
	s.headers = make([]mmsghdr, packetBatch)
	for i := range s.buffers {
		s.buffers[i] = make([]byte, l.port.longest())
		s.vectors[i].Base = &s.buffers[i][0]
		s.headers[i].msg.Iov = &s.vectors[i]
		s.headers[i].msg.Iovlen = 1
	}
	return s, nil
}

func (s *packetSender) close() error { return unix.Close(s.fd) }

// sendPackets sends the frames of a lane through its packet socket until all are
// sent, the deadline has passed or the sender is stopped.
func (s *sender) sendPackets(l *lane) error {
	// A quarter of the ring of frames that wait for others.
	const most = len(portTxPort{}.Retry)
	frames := make([]portTxFrame, 0, min(packetBatch, most))
	var last int64
	for !s.stopping.Load() {
		now := monotonic() - s.begin
		if now >= s.deadline() {
			return nil
		}
		frames = frames[:0]
		for now >= 0 && len(frames) < cap(frames) {
			f, ok := l.take(uint64(now))
			if !ok {
				break
			}
			frames = append(frames, f)
		}
		if len(frames) > 0 {
			last = now
			sent, err := l.packet.send(frames)
			l.left(frames[:sent], uint64(monotonic()-s.begin))
			for _, f := range frames[sent:] {
				l.refuse(f)
			}
			if err != nil {
				return l.failed(err)
			}
			if sent == 0 {
				time.Sleep(packetPause)
			}
			continue
		}
		due, more := l.next()
		if !more {
			return nil
		}
		s.sleepUntil(min(max(int64(min(due, 1<<62)), last+int64(packetQuantum)), s.deadline()))
	}
	return nil
}

// send writes and sends frames, and returns how many the device took. Those behind
// one that it refused it does not get.
func (s *packetSender) send(frames []portTxFrame) (int, error) {
	for i, f := range frames {
		t := &s.lane.streams[f.Slot]
		s.vectors[i].SetLen(int(t.Len))
		if t.BodyAt > 0 {
			copy(s.buffers[i][t.BodyAt:t.Len], s.bodies[t.Body])
		}
		t.write(s.buffers[i][:t.Len], uint64(monotonic()))
	}
	sent := 0
	for tries := 0; sent < len(frames); {
		r, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd),
			uintptr(unsafe.Pointer(&s.headers[sent])), uintptr(len(frames)-sent), 0, 0, 0)
		switch {
		case errno == 0:
			sent += int(r)
		case errno == unix.EINTR:
		case errors.Is(errno, unix.ENOBUFS) || errors.Is(errno, unix.EAGAIN):
			// The device's ring is full; let it drain, but do not hold the frames long.
			if tries++; tries > 3 {
				return sent, nil
			}
			time.Sleep(packetPause)
		default:
			return sent, fmt.Errorf("sending through a packet socket: %w", errno)
		}
	}
	return sent, nil
}
