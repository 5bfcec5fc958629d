package traffic

import (
	"net"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/traffic/frame"
)

// MAC is an Ethernet address.
type MAC [6]byte

// String writes the address as aa:bb:cc:dd:ee:ff.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// Nth is the address number n of a range that begins at m: the upper half stays,
// the lower 24 bits are spread, so that no two of 16,777,216 addresses are equal
// and neighbors do not look alike (RFC 4814 section 4.2).
func (m MAC) Nth(n uint32) MAC {
	low := uint32(m[3])<<16 | uint32(m[4])<<8 | uint32(m[5])
	low += n * MACSpread
	m[3], m[4], m[5] = byte(low>>16), byte(low>>8), byte(low)
	return m
}

// MACSpread is the distance between two successive addresses of a range, modulo 2^24. It is
// odd, so that a range repeats only after all 2^24 addresses.
const MACSpread = 0x9e3779

// Stream is a flow of equal-sized test frames from one port to one or more
// ports. Every frame carries the stream's ID, a sequence number that counts up
// from 0 in every trial, and the time at which it was sent.
type Stream struct {
	// ID identifies the stream in counters, 0 to 65535.
	ID uint16
	// TxPort sends.
	TxPort string
	// RxPorts are expected to receive every frame: one port for unicast, many for
	// multicast and broadcast.
	RxPorts []string
	// FrameSize in bytes with FCS, 64 to 9216.
	FrameSize int
	// Class of the stream in samples, one of few.
	Class string
	// ObeysPause lets the device hold TxPort back by pause frames, which an engine keeps
	// its ports from obeying otherwise, where it can.
	ObeysPause bool
	// Track selects what the receiving ports count of each microflow of the stream.
	Track Track
	// Headers of the frames.
	Headers Headers
}

// Headers are the protocol headers of a stream's frames. Ranges count up by one
// from frame to frame, each on its own, and start again at their end.
type Headers struct {
	// SrcMAC and DstMAC are the first addresses of their ranges, see MAC.Nth; a zero
	// DstMAC is filled in by Resolve before the trial.
	SrcMAC, DstMAC MAC
	// SrcMACCount and DstMACCount are the sizes of the ranges; 0 means 1.
	SrcMACCount, DstMACCount uint32
	// VLANs are the tags of the frames, outermost first.
	VLANs frame.VLANs
	// Labels is the MPLS label stack, outermost first; empty for none.
	Labels []uint32
	// Tunnel carries the packets. Its addresses are the same in every frame.
	Tunnel frame.Tunnel
	// TrafficClass is the whole octet: of IPv4 the type of service, of IPv6 the
	// traffic class. Its upper six bits are the code point (RFC 2474), and the lower two are
	// ECN (RFC 3168).
	TrafficClass uint8
	// SrcIP and DstIP are the first addresses of their ranges, of one family. When
	// both are the zero Addr, the frames have no network layer: the signature
	// follows frame.EtherTypeTest.
	SrcIP, DstIP netip.Addr
	// SrcIPCount and DstIPCount are the sizes of the ranges, at least 1.
	SrcIPCount, DstIPCount uint32
	// DstIPBits is the length of prefixes by which DstIP counts up, one address in each
	// network; 0 means by single addresses, which no route is announced for. DstIPStride
	// is the distance between two successive prefixes or addresses; 0 means 1.
	DstIPBits   uint8
	DstIPStride uint32
	// SrcPort and DstPort are the first UDP ports of their ranges.
	SrcPort, DstPort uint16
	// SrcPortCount and DstPortCount are the sizes of the ranges, at least 1.
	SrcPortCount, DstPortCount uint32
	// RoCE is the header of RoCEv2 behind UDP, whose destination port is frame.RoCEPort then.
	RoCE frame.RoCE
	// TTL is the time to live or hop limit; 0 means 64.
	TTL uint8
	// Custom contains the bytes after the hardware addresses and tags, from the EtherType
	// on. They replace all other headers; nil for none.
	Custom []byte
	// Payload is the pattern behind the signature.
	Payload frame.Payload
}

// The codepoints of ECN (RFC 3168 section 5), in the lower bits of the traffic class.
const (
	ecnMask       = 0b11
	ECT1    uint8 = 0b01
	ECT0    uint8 = 0b10
)

// ECNCapable reports whether a device may mark the frames as congested.
func (h Headers) ECNCapable() bool {
	ecn := h.TrafficClass & ecnMask
	return h.SrcIP.IsValid() && (ecn == ECT0 || ecn == ECT1)
}

// Load defines how much one stream sends in a trial. Exactly one of Rate and Max is used;
// Frames and Duration both bound the sending, whichever ends first, and at least one of them
// is above 0.
type Load struct {
	// Rate is the intended rate; ignored when Max is set.
	Rate Rate
	// Max sends as fast as the engine can.
	Max bool
	// Frames is the exact number of frames to send; 0 means until Duration ends.
	Frames uint64
	// Delay is the time from the beginning of the trial to the beginning of the stream.
	// Duration still counts from the beginning of the trial.
	Delay time.Duration
}

// Trial is one trial: which streams send how much for how long.
type Trial struct {
	// Loads has one entry per configured stream that sends, by stream ID.
	Loads map[uint16]Load
	// Duration of sending; 0 means until every stream has sent its Frames.
	Duration time.Duration
	// Epoch marks the frames of the trial where several engines take part, so that
	// each knows the others' frames; see Armer. 0 lets the engine choose.
	Epoch uint16
}
