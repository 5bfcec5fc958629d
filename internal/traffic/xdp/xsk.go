package xdp

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// xskFrames is the number of frames that an AF_XDP socket holds at most, and the size
	// of its rings: more than the transmit rings of NICs have. With chunks of 2 KiB these
	// are 4 MiB, which the default RLIMIT_MEMLOCK of 8 MiB allows.
	xskFrames = 2048
	// xskFillLeast is the smallest size of the ring of buffers for received frames.
	xskFillLeast = 64
	// xskSendBuffer is the limit of the memory of frames that the kernel has copied and
	// the device has not sent yet.
	xskSendBuffer = 32 << 20
	// xskRelease is the time that the kernel may take to release the queue of a socket
	// that was closed.
	xskRelease = 2 * time.Second
)

// xskOptions describe an AF_XDP socket.
type xskOptions struct {
	ifindex, queue int
	// chunk is the size of a buffer in bytes: 2048 or 4096.
	chunk int
	// zeroCopy lets the device read the frames from the memory of this process.
	zeroCopy bool
	// received is the number of buffers for frames that the queue receives: with zero copy
	// the driver takes its receive buffers from the same memory. The kernel gives a buffer
	// back when the receive program has dropped or passed on its frame.
	received int
}

// xsk is an AF_XDP socket that sends on one queue of an interface (see
// Documentation/networking/af_xdp.rst). It is used by one goroutine at a time.
type xsk struct {
	xskOptions
	fd int
	// memory holds the chunks: first the chunks of frames to send, then the chunks for received
	// frames. A chunk is named by the offset of its first byte.
	memory []byte
	// free are the chunks for frames that neither the ring nor the device has; held marks
	// the others by their number.
	free       []uint64
	held       [xskFrames]bool
	transmit   xskRing[unix.XDPDesc]
	completion xskRing[uint64]
	mapped     [][]byte
}

// xskRing is a ring that is shared with the kernel.
type xskRing[T any] struct {
	producer, consumer, flags *uint32
	entries                   []T
}

// at returns the entry of a position.
func (r *xskRing[T]) at(position uint32) *T { return &r.entries[position&uint32(len(r.entries)-1)] }

// newXSK opens a socket in the network namespace of the calling thread.
func newXSK(o xskOptions) (_ *xsk, err error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening an AF_XDP socket: %w", err)
	}
	s := &xsk{xskOptions: o, fd: fd}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.register(); err != nil {
		return nil, err
	}
	if err := s.mapRings(); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, xskSendBuffer); err != nil {
		return nil, fmt.Errorf("setting the send buffer: %w", err)
	}
	flags := uint16(unix.XDP_COPY)
	if o.zeroCopy {
		flags = unix.XDP_ZEROCOPY
	}
	address := &unix.SockaddrXDP{Flags: flags | unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(o.ifindex), QueueID: uint32(o.queue)}
	for end := time.Now().Add(xskRelease); ; time.Sleep(xskRelease / 100) {
		err := unix.Bind(fd, address)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return nil, fmt.Errorf("binding to queue %d: %w", o.queue, err)
		}
	}
	s.reset()
	return s, nil
}

// register gives the memory to the kernel, and makes the rings.
func (s *xsk) register() (err error) {
	if s.memory, err = unix.Mmap(-1, 0, (xskFrames+s.received)*s.chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("allocating %d bytes for frames: %w", (xskFrames+s.received)*s.chunk, err)
	}
	umem := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.memory)))), Len: uint64(len(s.memory)), Size: uint32(s.chunk)}
	if err := setsockopt(s.fd, unix.XDP_UMEM_REG, unsafe.Pointer(&umem), unsafe.Sizeof(umem)); err != nil {
		return fmt.Errorf("registering %d bytes for frames (needs CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK): %w", len(s.memory), err)
	}
	for option, entries := range map[int]int{
		unix.XDP_TX_RING: xskFrames, unix.XDP_UMEM_COMPLETION_RING: xskFrames, unix.XDP_UMEM_FILL_RING: s.fill(),
	} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, option, entries); err != nil {
			return fmt.Errorf("making a ring of %d entries: %w", entries, err)
		}
	}
	return nil
}

// fill returns the size of the ring of buffers for received frames, a power of two.
func (s *xsk) fill() int { return max(xskFillLeast, 1<<bits.Len(uint(max(s.received, 1)-1))) }

func (s *xsk) mapRings() (err error) {
	var offsets unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(offsets))
	if err := getsockopt(s.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&offsets), &size); err != nil {
		return fmt.Errorf("reading the layout of the rings: %w", err)
	}
	if s.transmit, err = mapRing[unix.XDPDesc](s, unix.XDP_PGOFF_TX_RING, offsets.Tx, xskFrames); err != nil {
		return err
	}
	if s.completion, err = mapRing[uint64](s, unix.XDP_UMEM_PGOFF_COMPLETION_RING, offsets.Cr, xskFrames); err != nil {
		return err
	}
	fill, err := mapRing[uint64](s, unix.XDP_UMEM_PGOFF_FILL_RING, offsets.Fr, s.fill())
	if err != nil {
		return err
	}
	for i := range s.received {
		*fill.at(uint32(i)) = uint64((xskFrames + i) * s.chunk)
	}
	atomic.StoreUint32(fill.producer, uint32(s.received))
	return nil
}

func mapRing[T any](s *xsk, at int64, o unix.XDPRingOffset, entries int) (r xskRing[T], err error) {
	b, err := unix.Mmap(s.fd, at, int(o.Desc)+entries*int(unsafe.Sizeof(*new(T))), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return r, fmt.Errorf("mapping a ring: %w", err)
	}
	s.mapped = append(s.mapped, b)
	word := func(offset uint64) *uint32 { return (*uint32)(unsafe.Pointer(&b[offset])) }
	return xskRing[T]{word(o.Producer), word(o.Consumer), word(o.Flags), unsafe.Slice((*T)(unsafe.Pointer(&b[o.Desc])), entries)}, nil
}

// reset clears the chunks of frames to send, none of which the ring or the device has.
func (s *xsk) reset() {
	clear(s.memory[:xskFrames*s.chunk])
	s.free, s.held = s.free[:0], [xskFrames]bool{}
	for i := range xskFrames {
		s.free = append(s.free, uint64(i*s.chunk))
	}
}

// idle reports whether neither the ring nor the device has frames.
func (s *xsk) idle() bool {
	s.reap(func(uint64) {})
	return len(s.free) == xskFrames
}

// allocate takes a free chunk.
func (s *xsk) allocate() uint64 {
	last := len(s.free) - 1
	chunk := s.free[last]
	s.free = s.free[:last]
	s.held[s.number(chunk)] = true
	return chunk
}

// release makes a chunk free.
func (s *xsk) release(chunk uint64) {
	if n := s.number(chunk); s.held[n] {
		s.held[n], s.free = false, append(s.free, chunk)
	}
}

// number returns the number of a chunk.
func (s *xsk) number(chunk uint64) int { return int(chunk) / s.chunk }

// bytes returns a chunk.
func (s *xsk) bytes(chunk uint64) []byte { return s.memory[chunk:][:s.chunk] }

// reap takes back the chunks of frames that the device has sent, and calls f for each.
func (s *xsk) reap(f func(chunk uint64)) {
	consumer, producer := *s.completion.consumer, atomic.LoadUint32(s.completion.producer)
	for ; consumer != producer; consumer++ {
		chunk := *s.completion.at(consumer)
		s.release(chunk)
		f(chunk)
	}
	atomic.StoreUint32(s.completion.consumer, consumer)
}

// wake makes the kernel send what is in the ring, where it does not do so by itself.
func (s *xsk) wake() error {
	if s.zeroCopy && atomic.LoadUint32(s.transmit.flags)&unix.XDP_RING_NEED_WAKEUP == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// invalid returns the number of entries of the ring that the kernel skipped as invalid.
func (s *xsk) invalid() (uint64, error) {
	var statistics unix.XDPStatistics
	size := uint32(unsafe.Sizeof(statistics))
	if err := getsockopt(s.fd, unix.XDP_STATISTICS, unsafe.Pointer(&statistics), &size); err != nil {
		return 0, fmt.Errorf("reading the statistics of the AF_XDP socket: %w", err)
	}
	return statistics.Tx_invalid_descs, nil
}

// close gives the queue back to the kernel.
func (s *xsk) close() error {
	errs := []error{unix.Close(s.fd)}
	for _, b := range append(s.mapped, s.memory) {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	s.mapped, s.memory = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the AF_XDP socket: %w", err)
	}
	return nil
}

func setsockopt(fd, option int, value unsafe.Pointer, size uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), size, 0); errno != 0 {
		return errno
	}
	return nil
}

func getsockopt(fd, option int, value unsafe.Pointer, size *uint32) error {
	if _, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(size)), 0); errno != 0 {
		return errno
	}
	return nil
}
