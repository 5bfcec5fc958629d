package xdp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/xsk"
)

const (
	// afxdpQuantum is the shortest time between two wake-ups of a sender through an
	// AF_XDP socket.
	afxdpQuantum = 20 * time.Microsecond
	// copyBatch is the number of frames that are sent at once where the kernel copies
	// them: what it sends in one system call (TX_BATCH_SIZE).
	copyBatch = 32
	// completionWait is the time for which a sender waits after the last frame for the
	// device to report that it has sent all.
	completionWait = time.Second
)

// newAFXDPSender makes a sender on an open socket.
func newAFXDPSender(l *lane, socket *xsk.Socket) userSender {
	l.makeBodies()
	socket.Reset()
	if socket.ZeroCopy {
		return &zeroCopySender{lane: l, socket: socket, flown: *socket.Transmit.Producer}
	}
	s := &copySender{lane: l, socket: socket, places: make([]int, xsk.Frames)}
	for i := range s.places {
		s.places[i] = -1
	}
	return s
}

// put writes a frame into a free chunk and the chunk into the ring.
func (l *lane) put(socket *xsk.Socket, position uint32, f kernel.PortTxFrame) (chunk uint64) {
	chunk = socket.Allocate()
	n := l.writeFrame(f, socket.Bytes(chunk))
	*socket.Transmit.At(position) = unix.XDPDesc{Addr: chunk, Len: uint32(n)}
	return chunk
}

// submit counts frames as sent that are about to enter the ring, so that no sample has
// received more than it has sent.
func (l *lane) submit(frames int) { atomic.AddUint64(&l.tx.Sent, uint64(frames)) }

// recordAll records when frames left that left together.
func (l *lane) recordAll(frames []kernel.PortTxFrame, now uint64) {
	l.tx.Clump = max(l.tx.Clump, uint64(len(frames)))
	for _, f := range frames {
		l.record(f.Due, now)
	}
}

// giveBack takes the number of a frame back that was in the ring and did not leave.
func (l *lane) giveBack(f kernel.PortTxFrame) {
	l.streams[f.Slot].TakeBack(f)
	l.tx.Left++
	atomic.AddUint64(&l.tx.Sent, ^uint64(0))
}

// zeroCopySender sends through a socket whose ring the device reads. A frame in the ring
// is sent sooner or later, in the order of the ring, so that a full ring holds back frames
// that have no number yet. The device reports frames that it has sent in the same order.
type zeroCopySender struct {
	lane   *lane
	socket *xsk.Socket
	// flying are the frames in the ring or the device by their position, from flown to the
	// producer of the ring.
	flying [xsk.Frames]kernel.PortTxFrame
	flown  uint32
}

func (s *zeroCopySender) quantum() time.Duration { return afxdpQuantum }

func (s *zeroCopySender) room() (int, error) {
	s.socket.Reap(func(uint64) { s.flown++ })
	if len(s.socket.Free) == 0 {
		return 0, s.wake()
	}
	return len(s.socket.Free), nil
}

func (s *zeroCopySender) send(frames []kernel.PortTxFrame) error {
	ring := &s.socket.Transmit
	at := *ring.Producer
	for _, f := range frames {
		s.lane.put(s.socket, at, f)
		s.flying[at%xsk.Frames] = f
		at++
	}
	s.lane.submit(len(frames))
	atomic.StoreUint32(ring.Producer, at)
	err := s.wake()
	s.lane.recordAll(frames, uint64(monotonic()-s.lane.begin))
	return err
}

// wake ignores errors of a busy device: the sender tries again.
func (s *zeroCopySender) wake() error {
	err := s.socket.Wake()
	if err == nil || busy(err) {
		return nil
	}
	return fmt.Errorf("sending through an AF_XDP socket: %w", err)
}

// finish waits until the device has sent all frames. The newest ones that it has not sent
// within completionWait, as without a link, do not count as sent.
func (s *zeroCopySender) finish() error {
	var err error
	for end := time.Now().Add(completionWait); err == nil; time.Sleep(fullPause) {
		s.socket.Reap(func(uint64) { s.flown++ })
		if len(s.socket.Free) == xsk.Frames || time.Now().After(end) {
			break
		}
		err = s.wake()
	}
	for at := *s.socket.Transmit.Producer; at != s.flown; at-- {
		s.lane.giveBack(s.flying[(at-1)%xsk.Frames])
	}
	return err
}

// close leaves the socket to the port.
func (s *zeroCopySender) close() error { return nil }

// copySender sends through a socket whose frames the kernel copies and gives to the
// device one by one, in the system call. So a frame leaves in that call, or waits in the
// ring for the next one, or was refused.
//
// Kernels before 6.17 do not tell how far a call got that ended before the end of the
// ring. But such a call ends at a refused frame (EBUSY), whose chunk it returns at once,
// and chunks behind it are not returned.
type copySender struct {
	lane   *lane
	socket *xsk.Socket
	// waiting are the frames in the ring from the position first on, with their chunks.
	waiting []kernel.PortTxFrame
	chunks  []uint64
	first   uint32
	// places has the place in waiting of each chunk there, by its number, or -1.
	places []int
}

func (s *copySender) quantum() time.Duration { return afxdpQuantum }

// room: there is at most one batch in the ring, so that frames do not become old there.
func (s *copySender) room() (int, error) {
	if len(s.waiting) > 0 {
		if err := s.push(); err != nil || len(s.waiting) > 0 {
			return 0, err
		}
	}
	s.reap()
	return min(copyBatch, len(s.socket.Free)), nil
}

func (s *copySender) send(frames []kernel.PortTxFrame) error {
	s.first = *s.socket.Transmit.Producer
	for i, f := range frames {
		chunk := s.lane.put(s.socket, s.first+uint32(i), f)
		s.places[s.socket.Number(chunk)] = i
		s.waiting, s.chunks = append(s.waiting, f), append(s.chunks, chunk)
	}
	s.lane.submit(len(frames))
	atomic.StoreUint32(s.socket.Transmit.Producer, s.first+uint32(len(frames)))
	return s.push()
}

// reap takes back chunks. It returns how many of the waiting frames have certainly been
// taken by the kernel.
func (s *copySender) reap() (taken int) {
	s.socket.Reap(func(chunk uint64) { taken = max(taken, s.places[s.socket.Number(chunk)]+1) })
	return taken
}

// push lets the kernel send what is waiting.
func (s *copySender) push() error {
	err := s.socket.Wake()
	if err != nil && !busy(err) {
		return fmt.Errorf("sending through an AF_XDP socket: %w", err)
	}
	taken := max(s.reap(), int(int32(atomic.LoadUint32(s.socket.Transmit.Consumer)-s.first)))
	if !errors.Is(err, unix.EBUSY) {
		s.leave(taken)
		return nil
	}
	if taken == 0 {
		return errors.New("sending through an AF_XDP socket: the kernel refused a frame and did not return it")
	}
	s.leave(taken - 1)
	s.repeat()
	return nil
}

// leave removes the first n waiting frames, which have left.
func (s *copySender) leave(n int) {
	s.lane.recordAll(s.waiting[:n], uint64(monotonic()-s.lane.begin))
	for _, chunk := range s.chunks[:n] {
		s.places[s.socket.Number(chunk)] = -1
	}
	s.waiting, s.chunks = append(s.waiting[:0], s.waiting[n:]...), append(s.chunks[:0], s.chunks[n:]...)
	s.first += uint32(n)
	for i, chunk := range s.chunks {
		s.places[s.socket.Number(chunk)] = i
	}
}

// repeat puts the first waiting frame, which the device refused, into the ring again, in
// front of those that are there. The kernel reads the ring only while it sends.
func (s *copySender) repeat() {
	s.lane.tx.Refused++
	s.lane.streams[s.waiting[0].Slot].Refused++
	refused := s.chunks[0]
	chunk := s.socket.Allocate() // there is one: that of the refused frame
	if chunk != refused {
		copy(s.socket.Bytes(chunk), s.socket.Bytes(refused))
	}
	s.places[s.socket.Number(refused)] = -1
	s.chunks[0], s.places[s.socket.Number(chunk)] = chunk, 0
	s.first++
	for i, chunk := range s.chunks {
		*s.socket.Transmit.At(s.first + uint32(i)) = unix.XDPDesc{Addr: chunk, Len: uint32(s.lane.streams[s.waiting[i].Slot].Len)}
	}
	atomic.StoreUint32(s.socket.Transmit.Producer, s.first+uint32(len(s.chunks)))
}

// finish withdraws what is waiting: it makes its entries in the ring invalid. The kernel
// skips and counts those that it has not sent before.
func (s *copySender) finish() error {
	if len(s.waiting) == 0 {
		return nil
	}
	before, err := s.socket.Invalid()
	if err != nil {
		return err
	}
	ring := &s.socket.Transmit
	for i := range s.waiting {
		ring.At(s.first + uint32(i)).Len = uint32(s.socket.Chunk) + 1
	}
	for range 2*len(s.waiting) + 2 { // some kernels skip one in each call
		if err = s.socket.Wake(); err != nil && !busy(err) {
			err = fmt.Errorf("withdrawing frames from an AF_XDP socket: %w", err)
			break
		}
		err = nil
	}
	taken := s.reap()
	if atomic.LoadUint32(ring.Consumer) == *ring.Producer {
		after, invalidErr := s.socket.Invalid()
		if invalidErr != nil {
			return errors.Join(err, invalidErr)
		}
		taken = len(s.waiting) - int(min(after-before, uint64(len(s.waiting))))
	}
	s.leave(taken)
	for i, f := range s.waiting {
		s.lane.giveBack(f)
		s.socket.Release(s.chunks[i]) // some kernels return it in the ring
	}
	return err
}

// close leaves the socket to the port.
func (s *copySender) close() error { return nil }

// busy reports whether an error means that the device or the kernel takes no more frames at
// the moment.
func busy(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.EINTR)
}
