package traffic

import (
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Microflow is one combination of addresses and ports in the ranges of a stream (RFC 2475
// section 1.2). What the frames of the stream do not have is zero.
type Microflow struct {
	// SrcMAC and DstMAC are the hardware addresses.
	SrcMAC, DstMAC MAC
	// SrcIP and DstIP are the addresses of the network layer.
	SrcIP, DstIP netip.Addr
	// SrcPort and DstPort are the UDP ports.
	SrcPort, DstPort uint16
}

// Microflows returns the number of microflows of a stream with these headers. Its ranges step
// together, from frame to frame, so that their combinations repeat after the least common
// multiple of their sizes: ranges of 250 and 40001 make 10,000,250 microflows, and two ranges
// of 250 make 250. The frame at place n of the stream, from 0, belongs to microflow n modulo
// the number of microflows. It is 2^64-1 if the number is larger.
func (h Headers) Microflows() uint64 {
	n := uint64(1)
	for _, count := range h.ranges() {
		n = leastMultiple(n, uint64(max(1, count)))
	}
	return n
}

// ranges returns the sizes of the ranges that the frames walk through.
func (h Headers) ranges() []uint32 {
	if !h.SrcIP.IsValid() || h.Custom != nil {
		return []uint32{h.SrcMACCount, h.DstMACCount}
	}
	return []uint32{h.SrcMACCount, h.DstMACCount, h.SrcIPCount, h.DstIPCount, h.SrcPortCount, h.DstPortCount}
}

// leastMultiple returns the least common multiple of two numbers above 0.
func leastMultiple(a, b uint64) uint64 {
	if b /= frame.CommonDivisor(a, b); a > ^uint64(0)/b {
		return ^uint64(0)
	}
	return a * b
}

// Microflow returns the addresses and ports of a microflow, from 0.
func (h Headers) Microflow(number uint64) Microflow {
	at := func(count uint32) uint32 { return uint32(number % uint64(max(1, count))) }
	f := Microflow{SrcMAC: h.SrcMAC.Nth(at(h.SrcMACCount)), DstMAC: h.DstMAC.Nth(at(h.DstMACCount))}
	if !h.SrcIP.IsValid() || h.Custom != nil {
		return f
	}
	shift := 0
	if h.DstIPBits > 0 {
		shift = h.DstIP.BitLen() - int(h.DstIPBits)
	}
	f.SrcIP = beyond(h.SrcIP, uint64(at(h.SrcIPCount)), 0)
	f.DstIP = beyond(h.DstIP, uint64(at(h.DstIPCount))*uint64(max(1, h.DstIPStride)), shift)
	f.SrcPort, f.DstPort = h.SrcPort+uint16(at(h.SrcPortCount)), h.DstPort+uint16(at(h.DstPortCount))
	return f
}

// beyond returns the address n<<shift above another one.
func beyond(a netip.Addr, n uint64, shift int) netip.Addr {
	b := a.AsSlice()
	carry := uint64(0)
	// The bits of n<<shift, from the last byte on.
	for i := len(b) - 1; i >= 0; i-- {
		low := 8*(len(b)-1-i) - shift
		part := uint64(0)
		switch {
		case low >= 64:
		case low >= 0:
			part = n >> low & 0xff
		case low > -8:
			part = n << -low & 0xff
		}
		sum := uint64(b[i]) + part + carry
		b[i], carry = byte(sum), sum>>8
	}
	above, _ := netip.AddrFromSlice(b)
	return above
}

// Track selects what the receiving ports count of each microflow of a stream.
type Track uint8

const (
	// TrackNone counts the frames of the stream only.
	TrackNone Track = iota
	// TrackCounts counts the frames of each microflow, in 8 bytes for each receiving port.
	TrackCounts
	// TrackTimes also keeps the time at which the first frame of each microflow arrived, in
	// 8 bytes more.
	TrackTimes
)

// MaxMicroflows is the largest number of microflows that a port counts, of all streams that it
// receives: 16 Mi, which need 128 MiB, and as much again with TrackTimes.
const MaxMicroflows = 16 << 20

// MicroflowBytes is the memory that a port needs for a microflow, in bytes; twice as much with
// TrackTimes.
const MicroflowBytes = 8
