package xdp

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
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
	sender *portTxSender
	// program is one that is attached to a port.
	program  *ebpf.Program
	template []byte
	// batch is the number of turns of the program in one batch.
	batch uint32
	// runs counts the system calls.
	runs int
}

// run runs the transmit program until it ends the run, and returns why it did. The
// program ends it by a signal to this thread. Other signals begin a run anew, as does
// the end of the kernel's count of repetitions, after some minutes.
func (l *liveSender) run() (portEnding, error) {
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
		_, _, errno := unix.Syscall(unix.SYS_BPF, progTestRun, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		if errno != 0 && errno != unix.EINTR && errno != unix.EAGAIN {
			return 0, fmt.Errorf("running the transmit program: %w", errno)
		}
	}
	return portEnding(atomic.LoadUint32(ended)), nil
}
