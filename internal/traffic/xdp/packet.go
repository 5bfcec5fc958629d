package xdp

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetQuantum is the shortest time between two wake-ups of a sender through a packet
// socket.
const packetQuantum = 100 * time.Microsecond

// packetSender sends through a packet socket, past the queueing discipline. It
// writes the same frames as the transmit program, and keeps the same counters.
type packetSender struct {
	lane *lane
	fd   int
	// buffers hold a frame each; headers and vectors point into them.
	buffers [][]byte
	vectors []unix.Iovec
	headers []mmsghdr
	// rejected counts the frames that the device had no room for, once for each try.
	rejected uint64
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
	l.makeBodies()
	s.buffers = make([][]byte, userBatch)
	s.vectors = make([]unix.Iovec, userBatch)
	s.headers = make([]mmsghdr, userBatch)
	for i := range s.buffers {
		s.buffers[i] = make([]byte, l.port.longest())
		s.vectors[i].Base = &s.buffers[i][0]
		s.headers[i].msg.Iov = &s.vectors[i]
		s.headers[i].msg.Iovlen = 1
	}
	return s, nil
}

func (s *packetSender) close() error {
	if err := unix.Close(s.fd); err != nil {
		return fmt.Errorf("closing the packet socket: %w", err)
	}
	return nil
}

func (s *packetSender) quantum() time.Duration { return packetQuantum }

// room: every call of send empties the buffers.
func (s *packetSender) room() (int, error) { return userBatch, nil }

func (s *packetSender) finish() error { return nil }

func (s *packetSender) send(frames []portTxFrame) error {
	sent, err := s.sendFirst(frames)
	s.lane.left(frames[:sent], uint64(monotonic()-s.lane.begin))
	for _, f := range frames[sent:] {
		s.lane.refuse(f)
	}
	if err == nil && sent == 0 {
		time.Sleep(fullPause)
	}
	return err
}

// sendFirst writes and sends frames, and returns how many the device took. Those behind
// one that it refused it does not get.
func (s *packetSender) sendFirst(frames []portTxFrame) (int, error) {
	for i, f := range frames {
		s.vectors[i].SetLen(s.lane.writeFrame(f, s.buffers[i]))
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
			if errno == unix.ENOBUFS {
				s.rejected++
			}
			// The device's ring is full; let it drain, but do not hold the frames long.
			if tries++; tries > 3 {
				return sent, nil
			}
			time.Sleep(fullPause)
		default:
			return sent, fmt.Errorf("sending through a packet socket: %w", errno)
		}
	}
	return sent, nil
}
