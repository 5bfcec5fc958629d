package kernel

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
)

// addresses is a range of addresses as the transmit program knows it: a part that never
// changes, and a number that counts up.
type addresses struct {
	// fixed is the first address with zeros where first counts up.
	fixed netip.Addr
	// first number: the IPv4 address, or 8 bytes of the IPv6 address.
	first uint64
	// step from one number to the next.
	step uint64
	// at is the offset of the number in an IPv6 address. It is even, as checksums are of
	// words.
	at int
	// count of addresses.
	count uint32
	// over reports whether step has more bits than the number.
	over bool
}

// sources are the source addresses, which count up by one.
func sources(h traffic.Headers) addresses {
	return countUp(h.SrcIP, h.SrcIPCount, h.SrcIP.BitLen(), 1)
}

// destinations are the destination addresses. Those of IPv6 count up in the 8 bytes that end
// with the prefix.
func destinations(h traffic.Headers) addresses {
	length := int(h.DstIPBits)
	if length == 0 {
		length = h.DstIP.BitLen()
	}
	return countUp(h.DstIP, h.DstIPCount, length, max(1, h.DstIPStride))
}

func countUp(a netip.Addr, count uint32, length int, stride uint32) addresses {
	r := addresses{count: count}
	width, shift := 64, a.BitLen()-length
	if a.Is4() {
		b := a.As4()
		width, r.fixed, r.first = 32, netip.IPv4Unspecified(), uint64(binary.BigEndian.Uint32(b[:]))
	} else {
		b := a.As16()
		r.at = max(0, min((length+15)/16*2, len(b))-8)
		shift = 8*(r.at+8) - length
		part := b[r.at : r.at+8]
		r.first = binary.BigEndian.Uint64(part)
		clear(part)
		r.fixed = netip.AddrFrom16(b)
	}
	r.step = uint64(stride) << max(0, shift)
	r.over = shift < 0 || bits.Len32(stride)+shift > width
	return r
}

// fit reports whether all addresses are in the address space.
func (r addresses) fit() bool {
	if r.count <= 1 {
		return true
	}
	beyond, span := bits.Mul64(uint64(r.count-1), r.step)
	last, carry := bits.Add64(r.first, span, 0)
	return !r.over && beyond == 0 && carry == 0 && (!r.fixed.Is4() || bits.Len64(last) <= 32)
}
