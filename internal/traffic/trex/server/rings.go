package server

import "fmt"

// What the kernel puts before a frame in a ring of packet sockets (TPACKET_V2):
// its header and address, rounded up, and room for the Ethernet header.
const ringHeader = 66

// Sizes of a frame's place in a ring, and of the blocks that the kernel allocates,
// in bytes. A block is a whole number of pages and of places: TRex takes the places
// of all blocks for one row without gaps.
//
// The larger place is the one multiple of 16 that holds frames of 9216 bytes and
// still fits in a buffer of TRex, which has 9280 bytes for frame and header.
const (
	placeSmall, blockSmall = 2048, 65536
	placeLarge, blockLarge = 9280, 593920
)

// taggedHeader is the size of an Ethernet header with two VLAN tags.
const taggedHeader = 14 + 2*4

// ring is the ring of one port.
type ring struct {
	// frames in each direction, the bytes of each, and of a block.
	frames, place, block int
}

// ringFor chooses the ring of an interface by its MTU: room for frames of 9216 bytes
// takes 4.5 times the memory, which is not the pod's but the kernel's.
func ringFor(frames, mtu int) ring {
	r := ring{place: placeSmall, block: blockSmall}
	if mtu+taggedHeader+ringHeader > placeSmall {
		r = ring{place: placeLarge, block: blockLarge}
	}
	perBlock := r.block / r.place
	r.frames = (frames + perBlock - 1) / perBlock * perBlock
	return r
}

// device is a packet socket as TRex's configuration names it.
func (r ring) device(number int, name string) string {
	return fmt.Sprintf("--vdev=net_af_packet%d,iface=%s,blocksz=%d,framesz=%d,framecnt=%d", number, name, r.block, r.place, r.frames)
}
