package xdp

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"io/fs"

	"k8s.io/apimachinery/pkg/util/version"

	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/netif"
	"nodrop.dev/nodrop/internal/traffic"
)

// programs are the loaded BPF programs and maps of one port, with room for a
// number of sending streams and of received flows.
type programs struct {
	portObjects
	// streams and port are the kernel's own memory: the transmit program reads
	// and writes it while the sender's thread is inside BPF_PROG_RUN.
	streams []portTxStream
	groups  []portTxGroup
	heap    []portTxDue
	ports   []portTxPort
	// senders are by processor, of which each has one sender at most.
	senders []portTxSender
	used    used
	index   []uint64
	// expected and trial define which frames are received in the current trial.
	expected []portRxStream
	window   []uint64
	trial    *portRxTrial
	room     room
	// captures counts the frames that are kept for inspection, and captured contains them.
	captures *portCaptures
	captured []portCaptured
	// frags reports whether the receive program takes frames in several buffers. The first
	// holds all headers.
	frags bool
	// follows reports whether the programs on tracepoints are attached.
	follows bool

	closers []io.Closer
	mapped  [][]byte
}

// used counts lanes, slots of streams and groups that the senders of a trial have in the
// memory of the programs.
type used struct{ lanes, slots, groups int }

// ownLines is the number of slots, or of groups, that begin and end with a cache line. Those
// of two senders share none.
const ownLines = 8

// next returns a number above n at which the slots or groups of another sender may begin.
func next(n int) int { return (n + ownLines - 1) / ownLines * ownLines }

// forget removes the senders of the trial before.
func (p *programs) forget() {
	clear(p.senders)
	p.used = used{}
}

// room is the number of sending ports and streams, received flows and blocks of sequence
// numbers that fit.
type room struct{ ports, streams, flows, blocks int }

// flowsFollowed is the number of streams of which a port keeps the last frame, for each processor.
// The neighbors of gaps are kept of those.
const flowsFollowed = 256

// captureKinds are the kinds of captured frames, in the order of enum capture_kind.
var captureKinds = [...]traffic.CaptureKind{traffic.CaptureFirst, traffic.CaptureDamaged, traffic.CaptureBeforeGap, traffic.CaptureAfterGap}

// leastBlocks are enough for the line rate of 10 Gbit/s in two or more streams.
const leastBlocks = 1 << 18

// fits reports whether other fits into the room.
func (r room) fits(other room) bool {
	return other.streams <= r.streams && other.flows <= r.flows && other.blocks <= r.blocks
}

// with is the room for both.
func (r room) with(other room) room {
	return room{max(r.ports, other.ports), max(r.streams, other.streams), max(r.flows, other.flows), max(r.blocks, other.blocks)}
}

// rounded is larger, so that streams can come and go without loading anew.
func (r room) rounded() room {
	return room{r.ports, capacity(r.streams), capacity(r.flows), max(leastBlocks, capacity(r.blocks))}
}

// capacity is the next power of two, at least 16.
func capacity(n int) int { return max(16, 1<<bits.Len(uint(n-1))) }

// loadPrograms loads the programs for an interface. frags selects the receive program for
// drivers that hand over frames in several buffers. Programs without holes have a map of their
// own.
func loadPrograms(ifindex int, netns uint32, room room, frags bool, capture traffic.Capture, holes *holes) (_ *programs, err error) {
	spec, err := loadPort()
	if err != nil {
		return nil, fmt.Errorf("reading the BPF programs: %w", err)
	}
	for name, value := range map[string]uint32{"port_ifindex": uint32(ifindex), "port_netns": netns, "capture_frames": uint32(capture.Frames), "capture_bytes": uint32(capture.Bytes)} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	for _, name := range []string{"tx_streams", "tx_groups", "tx_heap"} {
		spec.Maps[name].MaxEntries = uint32(room.streams)
	}
	processors, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("counting the processors: %w", err)
	}
	spec.Maps["tx_senders"].MaxEntries = uint32(processors)
	spec.Maps["tx_ports"].MaxEntries = uint32(room.ports)
	spec.Maps["tx_interfaces"].MaxEntries = uint32(room.ports)
	spec.Maps["rx_flows"].MaxEntries = uint32(room.flows)
	spec.Maps["rx_streams"].MaxEntries = uint32(room.flows)
	spec.Maps["rx_window"].MaxEntries = uint32(room.blocks)
	captured := max(1, capture.Frames*len(captureKinds))
	spec.Maps["captured_frames"].MaxEntries = uint32(captured)
	if capture.Frames > 0 {
		spec.Maps["last_frames"].MaxEntries = uint32(min(room.flows, flowsFollowed))
	}

	if frags {
		spec.Programs["port"].Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}

	p := &programs{room: room, frags: frags}
	shared := &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{}}
	if holes != nil {
		shared.MapReplacements["holes"] = holes.of
	}
	if err := spec.LoadAndAssign(&p.portObjects, shared); err != nil {
		return nil, explainLoad(netif.KernelRelease(), err)
	}
	p.closers = append(p.closers, &p.portObjects)
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.streams, err = mapped[portTxStream](p, p.TxStreams, room.streams); err != nil {
		return nil, err
	}
	if p.groups, err = mapped[portTxGroup](p, p.TxGroups, room.streams); err != nil {
		return nil, err
	}
	if p.heap, err = mapped[portTxDue](p, p.TxHeap, room.streams); err != nil {
		return nil, err
	}
	if p.ports, err = mapped[portTxPort](p, p.TxPorts, room.ports); err != nil {
		return nil, err
	}
	if p.senders, err = mapped[portTxSender](p, p.TxSenders, processors); err != nil {
		return nil, err
	}
	if p.expected, err = mapped[portRxStream](p, p.RxStreams, room.flows); err != nil {
		return nil, err
	}
	if p.window, err = mapped[uint64](p, p.RxWindow, room.blocks); err != nil {
		return nil, err
	}
	trials, err := mapped[portRxTrial](p, p.RxTrials, 1)
	if err != nil {
		return nil, err
	}
	p.trial = &trials[0]
	if p.index, err = mapped[uint64](p, p.RxIndex, 1<<16); err != nil {
		return nil, err
	}
	captures, err := mapped[portCaptures](p, p.CaptureCounts, 1)
	if err != nil {
		return nil, err
	}
	p.captures = &captures[0]
	if p.captured, err = mapped[portCaptured](p, p.CapturedFrames, captured); err != nil {
		return nil, err
	}
	return p, nil
}

// follow begins to follow what the kernel does with redirected frames. Only the
// programs of senders do, since all that follow are called for every frame.
func (p *programs) follow() error {
	if p.follows {
		return nil
	}
	for _, prog := range []*ebpf.Program{p.TxDone, p.TxRefused} {
		l, err := link.AttachTracing(link.TracingOptions{Program: prog})
		if err != nil {
			return fmt.Errorf("following the kernel's XDP tracepoints: %w", err)
		}
		p.closers = append(p.closers, l)
	}
	p.follows = true
	return nil
}

// mapped maps a map's n values into this process.
func mapped[T any](p *programs, m *ebpf.Map, n int) ([]T, error) {
	values, b, err := mapValues[T](m, n)
	if err != nil {
		return nil, err
	}
	p.mapped = append(p.mapped, b)
	return values, nil
}

// mapValues maps a map's n values into this process, and returns the memory as well.
func mapValues[T any](m *ebpf.Map, n int) ([]T, []byte, error) {
	size := n * int(unsafe.Sizeof(*new(T)))
	page := unix.Getpagesize()
	b, err := unix.Mmap(m.FD(), 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping the BPF map %v: %w", m, err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), b, nil
}

func (p *programs) close() error {
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i].Close())
	}
	for _, b := range p.mapped {
		errs = append(errs, unix.Munmap(b))
	}
	p.closers, p.mapped = nil, nil
	return errors.Join(errs...)
}

// oldestKernel is the oldest release that the programs are tested on.
var oldestKernel = version.MustParseGeneric("6.1")

// explainLoad names the kernel, the feature that is missing and the remedy when the BPF
// programs do not load. Releases of distributions may have features of later kernels, so
// the release alone is no reason to refuse.
func explainLoad(release string, err error) error {
	err = fmt.Errorf("loading the BPF programs on Linux %s: %w", release, err)
	v, parsing := version.ParseGeneric(release)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES) && !errors.As(err, new(*ebpf.VerifierError)):
		return hint.With(err, "run as root, or with the capabilities NET_ADMIN, NET_RAW, BPF and PERFMON")
	case parsing == nil && v.LessThan(oldestKernel):
		return hint.With(err, "the kernel is too old for the engine xdp, which sends live frames by BPF_PROG_RUN: update to Linux 6.1 or later, or use the engine trex")
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, fs.ErrNotExist):
		return hint.With(err, "the kernel has no BTF (/sys/kernel/btf/vmlinux) or lacks a BPF feature: use a kernel of a distribution, with CONFIG_DEBUG_INFO_BTF")
	}
	return hint.With(err, "needs the capabilities NET_ADMIN, NET_RAW, BPF and PERFMON, and Linux 6.1 or later with BTF; docs/kernels.md lists the kernels that pass")
}
