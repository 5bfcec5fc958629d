package xdp

import (
	"math/bits"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

const (
	// reorderTime is the time after later frames of its stream in which a frame may arrive
	// and still be distinguished from a copy, at the stream's intended rate.
	reorderTime = 250 * time.Millisecond
	// leastWindow is the fewest sequence numbers that are remembered of a stream.
	leastWindow = 4096
	// blockNumbers is the number of sequence numbers in a block.
	blockNumbers = 32
	// fastest is the speed that a port is taken to have at least where a load has no
	// rate: virtual interfaces are faster than the speed that a bed gives them.
	fastest = 10_000_000_000
)

// expect prepares the port to receive the streams of a trial: how many frames each
// has, how long they are, and how many numbers are remembered. It makes room for
// those. Streams without a load in the trial are taken to share the line.
func (r *receiver) expect(t traffic.Trial) error {
	expected, blocks := make([]kernel.PortRxStream, len(r.streams)), uint32(0)
	for i, s := range r.streams {
		load, known := t.Loads[s.ID]
		x := &expected[i]
		x.Intended = unlimited
		x.Payload.Length, x.Payload.Body = uint16(s.FrameSize-4-kernel.Packet(s).NetworkOffset()), r.bodies.Number(s)
		switch packet := kernel.Packet(s); {
		case packet.Custom != nil:
			x.Payload.Custom, x.Payload.Length = uint16(len(packet.Custom)), uint16(packet.SignatureOffset()-packet.PayloadOffset())
		case packet.Balanced():
			x.Payload.Balanced, x.Payload.Balance = 1, bits.ReverseBytes16(packet.Balance())
		}
		if known {
			x.Intended = intended(load, t.Duration)
		}
		numbers := min(r.numbers(s, load, len(r.streams)), x.Intended)
		x.Tracked = r.microflows.At[i]
		x.Shift = windowShift(numbers)
		x.Mask, x.Window = 1<<x.Shift-1, blocks
		blocks += 1 << x.Shift
	}
	if err := r.makeRoom(kernel.Room{Blocks: int(blocks)}); err != nil {
		return err
	}
	copy(r.attached.programs.Expected, expected)
	clear(r.attached.programs.Window[:blocks])
	return nil
}

// numbers returns the number of frames that a stream sends within the reorder time. A stream
// without a rate shares the line with the other streams.
func (r *receiver) numbers(s traffic.Stream, load traffic.Load, streams int) uint64 {
	if load.Rate.Frames > 0 && load.Rate.PerNanos > 0 && !load.Max {
		return mulDiv(uint64(reorderTime), uint64(load.Rate.Frames), uint64(load.Rate.PerNanos), 1)
	}
	line := uint64(max(r.SpeedBitsPerSecond, fastest)) / uint64(frame.WireBits(s.FrameSize))
	return mulDiv(line, uint64(reorderTime), uint64(time.Second), uint64(streams))
}

// windowShift is the number of blocks, as a power of two, that hold so many numbers.
func windowShift(numbers uint64) uint16 {
	blocks := (max(numbers, leastWindow) + blockNumbers - 1) / blockNumbers
	return uint16(bits.Len64(blocks - 1))
}
