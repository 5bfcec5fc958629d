package xdp

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

const (
	// batch is the number of turns of the program that the kernel makes before it hands
	// what was sent to the device. It is the size of the device's bulk queue
	// (DEV_MAP_BULK_SIZE). With more turns, a full queue is handed over when the next
	// frame is written and already has its number, which then cannot be given to a refused
	// one.
	batch = 16
	// longBatch is the number of turns in a batch above longBatchRate, in frames per
	// nanosecond, and for a stream that sends as fast as it can. A frame costs some
	// nanoseconds less then. Below that rate, turns without a frame would hold up the
	// frames before them.
	longBatch     = 64
	longBatchRate = 8_000_000 / 1e9
	// Up to constantRate, in frames per nanosecond, a batch is one turn, so that no frame
	// waits for the turns behind it. A frame costs more than twice as much then, by the
	// passing on and the device's work for a single one, as measured. So a sender that
	// falls behind its schedule by this much does the rest of the trial in batches.
	constantRate = 250_000 / 1e9
	behind       = time.Millisecond
	// maxLiveFrame is the largest frame without FCS that fits into the page of a
	// live frame next to the kernel's headroom of 256, its bookkeeping and the
	// 320 bytes of a socket buffer's shared info. Measured, with some room left.
	maxLiveFrame = 3300
	// spare is the number of bytes by which the frames of the pool are longer than the
	// sent ones, so that the program shortens each. Only then does the kernel reset the
	// length of a frame that a device has changed on its way, as a device does that
	// truncates it by XDP.
	spare = 1

	// The kernel has 65,534 pools of pages for all runs on the machine. That of a run remains for
	// a second or more when the device still has frames of it. So a sender that rests often, with
	// a device that is slow, can use up all of them. It waits for room then, at most this often.
	poolPause = 10 * time.Millisecond
	poolWaits = 1000

	progTestRun    = 10     // BPF_PROG_TEST_RUN
	liveFramesFlag = 1 << 1 // BPF_F_TEST_XDP_LIVE_FRAMES
)

// testRunAttr is the part of union bpf_attr that BPF_PROG_TEST_RUN reads.
type testRunAttr struct {
	progFD, retval             uint32
	dataSizeIn, dataSizeOut    uint32
	dataIn, dataOut            uint64
	repeat, duration           uint32
	ctxSizeIn, ctxSizeOut      uint32
	ctxIn, ctxOut              uint64
	flags, cpu, batchSize, pad uint32
}

// liveSender sends by running the transmit program on live frames.
type liveSender struct {
	// sender is shared with the program.
	sender *kernel.PortTxSender
	// program is one that is attached to a port.
	program  *ebpf.Program
	template []byte
	// batch is the number of turns of the program in one batch.
	batch uint32
	// runs counts the system calls, and full the last ones in a row for which the kernel had
	// no room.
	runs, full int
}

// testRun is a variable for tests of a kernel that has no room for another run.
var testRun = func(attr *testRunAttr) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_BPF, progTestRun, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
	return errno
}

// run runs the transmit program until it ends the run, and returns why it did. The
// program ends it by a signal to this thread. Other signals begin a run anew, as does
// the end of the kernel's count of repetitions, after some minutes.
func (l *liveSender) run() (kernel.PortEnding, error) {
	attr := testRunAttr{
		progFD:     uint32(l.program.FD()),
		dataSizeIn: uint32(len(l.template)),
		dataIn:     uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.template)))),
		repeat:     math.MaxInt32,
		batchSize:  l.batch,
		flags:      liveFramesFlag,
	}
	l.sender.Clock = 0
	ended := (*uint32)(&l.sender.Ended)
	for atomic.StoreUint32(ended, 0); atomic.LoadUint32(ended) == 0; {
		l.runs++
		errno := testRun(&attr)
		if errno == unix.ENOSPC && l.full < poolWaits {
			l.full++
			time.Sleep(poolPause)
			continue
		}
		l.full = 0
		if errno != 0 && errno != unix.EINTR && errno != unix.EAGAIN {
			return 0, fmt.Errorf("running the transmit program: %w", errno)
		}
	}
	return kernel.PortEnding(atomic.LoadUint32(ended)), nil
}

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
		s.buffers[i] = make([]byte, l.port.send.longest())
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

func (s *packetSender) send(frames []kernel.PortTxFrame) error {
	sent, err := s.sendFirst(frames)
	s.lane.left(frames[:sent], uint64(monotonic()-s.lane.begin))
	for _, f := range frames[sent:] {
		s.lane.refuse(f)
	}
	if err == nil && sent == 0 {
		time.Sleep(poolPause)
	}
	return err
}

// sendFirst writes and sends frames, and returns how many the device took. Those behind
// one that it refused it does not get.
func (s *packetSender) sendFirst(frames []kernel.PortTxFrame) (int, error) {
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
			time.Sleep(poolPause)
		default:
			return sent, fmt.Errorf("sending through a packet socket: %w", errno)
		}
	}
	return sent, nil
}
