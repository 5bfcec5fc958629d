// Package xsk sends frames through AF_XDP sockets.
package xsk

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
	// Frames is the number of frames that an AF_XDP socket holds at most, and the size
	// of its rings: more than the transmit rings of NICs have. With chunks of 2 KiB these
	// are 4 MiB, which the default RLIMIT_MEMLOCK of 8 MiB allows.
	Frames = 2048
	// fillLeast is the smallest size of the ring of buffers for received frames.
	fillLeast = 64
	// sendBuffer is the limit of the memory of frames that the kernel has copied and
	// the device has not sent yet.
	sendBuffer = 32 << 20
	// releaseTime is the time that the kernel may take to release the queue of a socket
	// that was closed.
	releaseTime = 2 * time.Second
)

// Options describe an AF_XDP socket.
type Options struct {
	Ifindex, Queue int
	// Chunk is the size of a buffer in bytes: 2048 or 4096.
	Chunk int
	// ZeroCopy lets the device read the frames from the memory of this process.
	ZeroCopy bool
	// Received is the number of buffers for frames that the queue receives: with zero copy
	// the driver takes its receive buffers from the same memory. The kernel gives a buffer
	// back when the receive program has dropped or passed on its frame.
	Received int
}

// Socket is an AF_XDP socket that sends on one queue of an interface (see
// Documentation/networking/af_xdp.rst). It is used by one goroutine at a time.
type Socket struct {
	Options
	fd int
	// memory holds the chunks: first the chunks of frames to send, then the chunks for received
	// frames. A chunk is named by the offset of its first byte.
	memory []byte
	// Free are the chunks for frames that neither the ring nor the device has; held marks
	// the others by their number.
	Free       []uint64
	held       [Frames]bool
	Transmit   ring[unix.XDPDesc]
	completion ring[uint64]
	mapped     [][]byte
}

// ring is a ring that is shared with the kernel.
type ring[T any] struct {
	Producer, Consumer, flags *uint32
	entries                   []T
}

// At returns the entry of a position.
func (r *ring[T]) At(position uint32) *T { return &r.entries[position&uint32(len(r.entries)-1)] }

// Open opens a socket in the network namespace of the calling thread.
func Open(o Options) (_ *Socket, err error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening an AF_XDP socket: %w", err)
	}
	s := &Socket{Options: o, fd: fd}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.register(); err != nil {
		return nil, err
	}
	if err := s.mapRings(); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer); err != nil {
		return nil, fmt.Errorf("setting the send buffer: %w", err)
	}
	flags := uint16(unix.XDP_COPY)
	if o.ZeroCopy {
		flags = unix.XDP_ZEROCOPY
	}
	address := &unix.SockaddrXDP{Flags: flags | unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(o.Ifindex), QueueID: uint32(o.Queue)}
	for end := time.Now().Add(releaseTime); ; time.Sleep(releaseTime / 100) {
		err := unix.Bind(fd, address)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return nil, fmt.Errorf("binding to queue %d: %w", o.Queue, err)
		}
	}
	s.Reset()
	return s, nil
}

// register gives the memory to the kernel, and makes the rings.
func (s *Socket) register() (err error) {
	if s.memory, err = unix.Mmap(-1, 0, (Frames+s.Received)*s.Chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("allocating %d bytes for frames: %w", (Frames+s.Received)*s.Chunk, err)
	}
	umem := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.memory)))), Len: uint64(len(s.memory)), Size: uint32(s.Chunk)}
	if err := setsockopt(s.fd, unix.XDP_UMEM_REG, unsafe.Pointer(&umem), unsafe.Sizeof(umem)); err != nil {
		return fmt.Errorf("registering %d bytes for frames (needs CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK): %w", len(s.memory), err)
	}
	for option, entries := range map[int]int{
		unix.XDP_TX_RING: Frames, unix.XDP_UMEM_COMPLETION_RING: Frames, unix.XDP_UMEM_FILL_RING: s.fill(),
	} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, option, entries); err != nil {
			return fmt.Errorf("making a ring of %d entries: %w", entries, err)
		}
	}
	return nil
}

// fill returns the size of the ring of buffers for received frames, a power of two.
func (s *Socket) fill() int { return max(fillLeast, 1<<bits.Len(uint(max(s.Received, 1)-1))) }

func (s *Socket) mapRings() (err error) {
	var offsets unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(offsets))
	if err := getsockopt(s.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&offsets), &size); err != nil {
		return fmt.Errorf("reading the layout of the rings: %w", err)
	}
	if s.Transmit, err = mapRing[unix.XDPDesc](s, unix.XDP_PGOFF_TX_RING, offsets.Tx, Frames); err != nil {
		return err
	}
	if s.completion, err = mapRing[uint64](s, unix.XDP_UMEM_PGOFF_COMPLETION_RING, offsets.Cr, Frames); err != nil {
		return err
	}
	fill, err := mapRing[uint64](s, unix.XDP_UMEM_PGOFF_FILL_RING, offsets.Fr, s.fill())
	if err != nil {
		return err
	}
	for i := range s.Received {
		*fill.At(uint32(i)) = uint64((Frames + i) * s.Chunk)
	}
	atomic.StoreUint32(fill.Producer, uint32(s.Received))
	return nil
}

func mapRing[T any](s *Socket, at int64, o unix.XDPRingOffset, entries int) (r ring[T], err error) {
	b, err := unix.Mmap(s.fd, at, int(o.Desc)+entries*int(unsafe.Sizeof(*new(T))), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return r, fmt.Errorf("mapping a ring: %w", err)
	}
	s.mapped = append(s.mapped, b)
	word := func(offset uint64) *uint32 { return (*uint32)(unsafe.Pointer(&b[offset])) }
	return ring[T]{word(o.Producer), word(o.Consumer), word(o.Flags), unsafe.Slice((*T)(unsafe.Pointer(&b[o.Desc])), entries)}, nil
}

// Reset clears the chunks of frames to send, none of which the ring or the device has.
func (s *Socket) Reset() {
	clear(s.memory[:Frames*s.Chunk])
	s.Free, s.held = s.Free[:0], [Frames]bool{}
	for i := range Frames {
		s.Free = append(s.Free, uint64(i*s.Chunk))
	}
}

// Idle reports whether neither the ring nor the device has frames.
func (s *Socket) Idle() bool {
	s.Reap(func(uint64) {})
	return len(s.Free) == Frames
}

// Allocate takes a free chunk.
func (s *Socket) Allocate() uint64 {
	last := len(s.Free) - 1
	chunk := s.Free[last]
	s.Free = s.Free[:last]
	s.held[s.Number(chunk)] = true
	return chunk
}

// Release makes a chunk free.
func (s *Socket) Release(chunk uint64) {
	if n := s.Number(chunk); s.held[n] {
		s.held[n], s.Free = false, append(s.Free, chunk)
	}
}

// Number returns the number of a chunk.
func (s *Socket) Number(chunk uint64) int { return int(chunk) / s.Chunk }

// Bytes returns a chunk.
func (s *Socket) Bytes(chunk uint64) []byte { return s.memory[chunk:][:s.Chunk] }

// Reap takes back the chunks of frames that the device has sent, and calls f for each.
func (s *Socket) Reap(f func(chunk uint64)) {
	consumer, producer := *s.completion.Consumer, atomic.LoadUint32(s.completion.Producer)
	for ; consumer != producer; consumer++ {
		chunk := *s.completion.At(consumer)
		s.Release(chunk)
		f(chunk)
	}
	atomic.StoreUint32(s.completion.Consumer, consumer)
}

// Wake makes the kernel send what is in the ring, where it does not do so by itself.
func (s *Socket) Wake() error {
	if s.ZeroCopy && atomic.LoadUint32(s.Transmit.flags)&unix.XDP_RING_NEED_WAKEUP == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Invalid returns the number of entries of the ring that the kernel skipped as invalid.
func (s *Socket) Invalid() (uint64, error) {
	var statistics unix.XDPStatistics
	size := uint32(unsafe.Sizeof(statistics))
	if err := getsockopt(s.fd, unix.XDP_STATISTICS, unsafe.Pointer(&statistics), &size); err != nil {
		return 0, fmt.Errorf("reading the statistics of the AF_XDP socket: %w", err)
	}
	return statistics.Tx_invalid_descs, nil
}

// Close gives the queue back to the kernel.
func (s *Socket) Close() error {
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
