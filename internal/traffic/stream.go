package traffic

import (
	"net"
	"net/netip"
	"time"
)

// Rate is an exact frame rate: Frames per Per.
// For one stream at a share of line rate, Frames = speed * ppm and Per is scaled
// to match, so that no rounding happens before the engine schedules frames.
type Rate struct {
	// Frames is the numerator, in frames.
	Frames int64
	// PerNanos is the denominator, in nanoseconds; above 0.
	PerNanos int64
}

// MAC is an Ethernet address.
type MAC [6]byte

// String writes the address as aa:bb:cc:dd:ee:ff.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// Stream is a flow of equal-sized test frames from one port to one or more
// ports. Every frame carries the stream's ID, a sequence number that counts up
// from 0 in every trial, and the time at which it was sent.
type Stream struct {
	// ID identifies the stream in counters, 0 to 65535.
	ID uint16
	// TxPort sends.
	TxPort string
	// RxPorts are expected to receive every frame; one port for unicast.
	RxPorts []string
	// FrameSize in bytes with FCS, 64 to 9216.
	FrameSize int
	// Headers of the frames.
	Headers Headers
}

// Headers are the protocol headers of a stream's frames. Ranges count up by one
// from frame to frame, each on its own, and start again at their end.
type Headers struct {
	// SrcMAC and DstMAC; a zero DstMAC is filled in by Resolve before the trial.
	SrcMAC, DstMAC MAC
	// SrcIP and DstIP are the first addresses of their ranges, of one family.
	SrcIP, DstIP netip.Addr
	// SrcIPCount and DstIPCount are the sizes of the ranges, at least 1.
	SrcIPCount, DstIPCount uint32
	// SrcPort and DstPort are the first UDP ports of their ranges.
	SrcPort, DstPort uint16
	// SrcPortCount and DstPortCount are the sizes of the ranges, at least 1.
	SrcPortCount, DstPortCount uint32
	// TTL is the time to live or hop limit; 0 means 64.
	TTL uint8
}

// Load says how much one stream sends in a trial. Exactly one of Rate and Max is
// used; Frames and Duration both bound the sending, whichever ends first, and
// at least one of them is above 0.
type Load struct {
	// Rate is the intended rate; ignored when Max is set.
	Rate Rate
	// Max sends as fast as the engine can.
	Max bool
	// Frames is the exact number of frames to send; 0 means until Duration ends.
	Frames uint64
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
