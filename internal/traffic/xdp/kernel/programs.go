package kernel

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/version"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Programs are the loaded BPF programs and maps of one port, with room for a
// number of sending streams and of received flows.
type Programs struct {
	PortObjects
	// Streams and port are the kernel's own memory: the transmit program reads
	// and writes it while the sender's thread is inside BPF_PROG_RUN.
	Streams []PortTxStream
	Groups  []PortTxGroup
	Heap    []PortTxDue
	Ports   []PortTxPort
	// Senders are by processor, of which each has one sender at most.
	Senders []PortTxSender
	Used    Used
	Index   []uint64
	// Expected and trial define which frames are received in the current trial.
	Expected []PortRxStream
	Window   []uint64
	// Notify has the answers to the frames of each received flow.
	Notify []PortRxNotify
	Trial  *PortRxTrial
	Room   Room
	// Microflows and Firsts are the records of the streams that are tracked, and when the
	// first frame of each arrived.
	Microflows []PortRxMicroflow
	Firsts     []uint64
	// Captures counts the frames that are kept for inspection, and captured contains them.
	Captures *PortCaptures
	Captured []PortCaptured
	// Frags reports whether the receive program takes frames in several buffers. The first
	// holds all headers.
	Frags bool
	// follows reports whether the programs on tracepoints are attached.
	follows bool

	closers []io.Closer
	mapped  [][]byte
}

// Used counts lanes, slots of streams and groups that the senders of a trial have in the
// memory of the programs.
type Used struct{ Lanes, Slots, Groups int }

// OwnLines is the number of slots, or of groups, that begin and end with a cache line. Those
// of two senders share none.
const OwnLines = 8

// Next returns a number above n at which the slots or groups of another sender may begin.
func Next(n int) int { return (n + OwnLines - 1) / OwnLines * OwnLines }

// Forget removes the senders of the trial before.
func (p *Programs) Forget() {
	clear(p.Senders)
	p.Used = Used{}
}

// Room is the number of sending ports and streams, received flows and blocks of sequence
// numbers that fit, and of microflows and the times of their first frames.
type Room struct{ Ports, Streams, Flows, Blocks, Microflows, Firsts int }

// flowsFollowed is the number of streams of which a port keeps the last frame, for each processor.
// The neighbors of gaps are kept of those.
const flowsFollowed = 256

// CaptureKinds are the kinds of captured frames, in the order of enum capture_kind.
var CaptureKinds = [...]traffic.CaptureKind{traffic.CaptureFirst, traffic.CaptureDamaged, traffic.CaptureBeforeGap, traffic.CaptureAfterGap}

// leastBlocks are enough for the line rate of 10 Gbit/s in two or more streams.
const leastBlocks = 1 << 18

// Fits reports whether other fits into the room.
func (r Room) Fits(other Room) bool {
	return other.Streams <= r.Streams && other.Flows <= r.Flows && other.Blocks <= r.Blocks &&
		other.Microflows <= r.Microflows && other.Firsts <= r.Firsts
}

// With is the room for both.
func (r Room) With(other Room) Room {
	return Room{
		max(r.Ports, other.Ports), max(r.Streams, other.Streams), max(r.Flows, other.Flows), max(r.Blocks, other.Blocks),
		max(r.Microflows, other.Microflows), max(r.Firsts, other.Firsts),
	}
}

// Rounded is larger, so that streams can come and go without loading anew. Microflows are too
// many for that.
func (r Room) Rounded() Room {
	return Room{r.Ports, capacity(r.Streams), capacity(r.Flows), max(leastBlocks, capacity(r.Blocks)), max(1, r.Microflows), max(1, r.Firsts)}
}

// capacity is the next power of two, at least 16.
func capacity(n int) int { return max(16, 1<<bits.Len(uint(n-1))) }

// Load loads the programs for an interface. frags selects the receive program for
// drivers that hand over frames in several buffers. Programs without holes have a map of their
// own.
func Load(ifindex int, netns uint32, room Room, frags bool, capture traffic.Capture, holes *Holes) (_ *Programs, err error) {
	spec, err := LoadPort()
	if err != nil {
		return nil, fmt.Errorf("reading the BPF programs: %w", err)
	}
	for name, value := range map[string]uint32{"port_ifindex": uint32(ifindex), "port_netns": netns, "capture_frames": uint32(capture.Frames), "capture_bytes": uint32(capture.Bytes)} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	if err := spec.Variables["crc_table"].Set(*crc32.IEEETable); err != nil {
		return nil, fmt.Errorf("setting crc_table: %w", err)
	}
	for name, ipv6 := range map[string]bool{"cnp_icrc4": false, "cnp_icrc6": true} {
		if err := spec.Variables[name].Set(frame.CNPRegister(ipv6)); err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	processors, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("counting the processors: %w", err)
	}
	resize(spec, room, capture, processors)
	if frags {
		spec.Programs["port"].Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}

	p := &Programs{Room: room, Frags: frags}
	shared := &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{}}
	if holes != nil {
		shared.MapReplacements["holes"] = holes.of
	}
	if err := spec.LoadAndAssign(&p.PortObjects, shared); err != nil {
		return nil, ExplainLoad(netif.KernelRelease(), err)
	}
	p.closers = append(p.closers, &p.PortObjects)
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if err := p.mapMemory(processors, captureRoom(capture)); err != nil {
		return nil, err
	}
	return p, nil
}

// captureRoom is the number of frames that a port can keep for inspection.
func captureRoom(capture traffic.Capture) int { return max(1, capture.Frames*len(CaptureKinds)) }

// resize gives the maps of the programs the room that they need.
func resize(spec *ebpf.CollectionSpec, room Room, capture traffic.Capture, processors int) {
	for _, name := range []string{"tx_streams", "tx_groups", "tx_heap"} {
		spec.Maps[name].MaxEntries = uint32(room.Streams)
	}
	spec.Maps["tx_senders"].MaxEntries = uint32(processors)
	spec.Maps["tx_ports"].MaxEntries = uint32(room.Ports)
	spec.Maps["tx_interfaces"].MaxEntries = uint32(room.Ports)
	spec.Maps["rx_flows"].MaxEntries = uint32(room.Flows)
	spec.Maps["rx_streams"].MaxEntries = uint32(room.Flows)
	spec.Maps["rx_notifies"].MaxEntries = uint32(room.Flows)
	spec.Maps["rx_window"].MaxEntries = uint32(room.Blocks)
	spec.Maps["rx_microflows"].MaxEntries = uint32(room.Microflows)
	spec.Maps["rx_firsts"].MaxEntries = uint32(room.Firsts)
	spec.Maps["captured_frames"].MaxEntries = uint32(captureRoom(capture))
	if capture.Frames > 0 {
		spec.Maps["last_frames"].MaxEntries = uint32(min(room.Flows, flowsFollowed))
	}
}

// mapMemory maps the memory of the programs' maps into this process.
func (p *Programs) mapMemory(processors, captured int) error {
	var err error
	if p.Streams, err = mapped[PortTxStream](p, p.TxStreams, p.Room.Streams); err != nil {
		return err
	}
	if p.Groups, err = mapped[PortTxGroup](p, p.TxGroups, p.Room.Streams); err != nil {
		return err
	}
	if p.Heap, err = mapped[PortTxDue](p, p.TxHeap, p.Room.Streams); err != nil {
		return err
	}
	if p.Ports, err = mapped[PortTxPort](p, p.TxPorts, p.Room.Ports); err != nil {
		return err
	}
	if p.Senders, err = mapped[PortTxSender](p, p.TxSenders, processors); err != nil {
		return err
	}
	if p.Expected, err = mapped[PortRxStream](p, p.RxStreams, p.Room.Flows); err != nil {
		return err
	}
	if p.Notify, err = mapped[PortRxNotify](p, p.RxNotifies, p.Room.Flows); err != nil {
		return err
	}
	if p.Window, err = mapped[uint64](p, p.RxWindow, p.Room.Blocks); err != nil {
		return err
	}
	if p.Microflows, err = mapped[PortRxMicroflow](p, p.RxMicroflows, p.Room.Microflows); err != nil {
		return err
	}
	if p.Firsts, err = mapped[uint64](p, p.RxFirsts, p.Room.Firsts); err != nil {
		return err
	}
	trials, err := mapped[PortRxTrial](p, p.RxTrials, 1)
	if err != nil {
		return err
	}
	p.Trial = &trials[0]
	if p.Index, err = mapped[uint64](p, p.RxIndex, 1<<16); err != nil {
		return err
	}
	captures, err := mapped[PortCaptures](p, p.CaptureCounts, 1)
	if err != nil {
		return err
	}
	p.Captures = &captures[0]
	if p.Captured, err = mapped[PortCaptured](p, p.CapturedFrames, captured); err != nil {
		return err
	}
	return nil
}

// Follow begins to follow what the kernel does with redirected frames. Only the
// programs of senders do, since all that follow are called for every frame.
func (p *Programs) Follow() error {
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
func mapped[T any](p *Programs, m *ebpf.Map, n int) ([]T, error) {
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

// Close detaches and unloads the programs. Their memory must not be used afterwards.
func (p *Programs) Close() error {
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

// ExplainLoad names the kernel, the feature that is missing and the remedy when the BPF
// programs do not load. Releases of distributions may have features of later kernels, so
// the release alone is no reason to refuse.
func ExplainLoad(release string, err error) error {
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
