package xdp

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// errNoXDP says that the port's device does not take XDP frames now.
var errNoXDP = errors.New("the device does not take XDP frames")

const (
	// batch is how many frames the kernel writes before it hands them to the device:
	// the size of its bulk queue (DEV_MAP_BULK_SIZE). With more, a full queue is handed
	// over when the next frame is written and has its number already, which then
	// could not be given to a refused one.
	batch = 16
	// maxLiveFrame is the largest frame without FCS that fits into the page of a
	// live frame beside the kernel's headroom of 256, its bookkeeping and the
	// 320 bytes of a socket buffer's shared info. Measured, with some room left.
	maxLiveFrame = 3300

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
	programs *programs
	// program is the one that is attached to the port.
	program  *ebpf.Program
	template []byte
}

// send writes and sends the first n frames of the plan. It returns how many of
// them the device took.
//
// The system call is made here and not by the library, which would start a run
// again from its beginning when a signal interrupts it; Go sends itself signals.
func (l *liveSender) send(n int) (taken int, err error) {
	port := l.programs.port
	port.Pos, port.PlanLen, port.Error = 0, uint32(n), 0
	before := port.Sent
	attr := testRunAttr{
		progFD:     uint32(l.program.FD()),
		dataSizeIn: uint32(len(l.template)),
		dataIn:     uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.template)))),
		flags:      liveFramesFlag,
	}
	for port.Pos < port.PlanLen {
		at := port.Pos
		attr.repeat = port.PlanLen - at
		attr.batchSize = min(attr.repeat, batch)
		_, _, errno := unix.Syscall(unix.SYS_BPF, progTestRun, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		switch {
		case errno != 0 && errno != unix.EINTR && errno != unix.EAGAIN:
			return int(port.Sent - before), fmt.Errorf("running the transmit program: %w", errno)
		case errno == 0 && port.Pos == at:
			return int(port.Sent - before), errors.New("the transmit program sent nothing")
		}
	}
	taken = int(port.Sent - before)
	if open := port.PendingHead - port.PendingTail; open != 0 {
		return taken, fmt.Errorf("the kernel did not report %d frames", open)
	}
	switch errno := unix.Errno(-port.Error); {
	case taken == n || port.Error == 0: // at most the ring was full
	case errno == unix.ENXIO || errno == unix.EOPNOTSUPP:
		return taken, errNoXDP
	default:
		return taken, fmt.Errorf("redirecting frames to the port: %w", errno)
	}
	return taken, nil
}
