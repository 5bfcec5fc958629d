package xdp

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"unsafe"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// checkStream says why a stream cannot be sent or received.
func checkStream(s traffic.Stream) error {
	h := s.Headers
	switch {
	case !h.SrcIP.IsValid() || !h.DstIP.IsValid() || h.SrcIP.Is4() != h.DstIP.Is4():
		return fmt.Errorf("stream %d: source %v and destination %v are not two addresses of one family", s.ID, h.SrcIP, h.DstIP)
	case h.SrcIPCount < 1 || h.DstIPCount < 1 || h.SrcPortCount < 1 || h.DstPortCount < 1:
		return fmt.Errorf("stream %d: every range needs at least one value", s.ID)
	case uint64(h.SrcPort)+uint64(h.SrcPortCount) > 1<<16 || uint64(h.DstPort)+uint64(h.DstPortCount) > 1<<16:
		return fmt.Errorf("stream %d: a range of UDP ports ends above 65535", s.ID)
	}
	for first, count := range map[netip.Addr]uint32{h.SrcIP: h.SrcIPCount, h.DstIP: h.DstIPCount} {
		if _, base := split(first); base+uint64(count-1) < base || first.Is4() && base+uint64(count-1) > math.MaxUint32 {
			return fmt.Errorf("stream %d: %d addresses from %v do not fit into the address space", s.ID, count, first)
		}
	}
	return nil
}

// split returns an address in the two parts that the transmit program knows: the
// part that never changes, and the one that ranges count in.
func split(a netip.Addr) (high netip.Addr, low uint64) {
	if a.Is4() {
		b := a.As4()
		return netip.IPv4Unspecified(), uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.As16()
	low = binary.BigEndian.Uint64(b[8:])
	clear(b[8:])
	return netip.AddrFrom16(b), low
}

// newTxStream prepares the frames of a stream in a trial: all that does not
// change from frame to frame, and its part of the checksum.
func newTxStream(s traffic.Stream, epoch uint16) (portTxStream, error) {
	h := s.Headers
	srcHigh, src := split(h.SrcIP)
	dstHigh, dst := split(h.DstIP)
	b, err := frame.Packet{
		SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, Src: srcHigh, Dst: dstHigh, TTL: h.TTL, Size: s.FrameSize,
	}.Build(frame.Signature{Epoch: epoch, Stream: s.ID})
	if err != nil {
		return portTxStream{}, fmt.Errorf("stream %d: %w", s.ID, err)
	}
	t := portTxStream{
		Src: src, Dst: dst, SrcCount: h.SrcIPCount, DstCount: h.DstIPCount,
		Sport: h.SrcPort, Dport: h.DstPort, SportCount: h.SrcPortCount, DportCount: h.DstPortCount,
		Len: uint16(len(b)),
	}
	if h.SrcIP.Is6() {
		t.Ipv6 = 1
		udp := b[frame.SignatureOffset6-8:]
		clear(udp[6:8])
		t.Sum = uint32(frame.Sum(b[22:54]) + frame.Sum(udp) + 17 + uint64(len(udp)))
	} else {
		clear(b[24:26])
		t.Sum = uint32(frame.Sum(b[14:34]))
	}
	copy(t.headBytes(), b)
	return t, nil
}

// headBytes is the head as the bytes of the frame.
func (t *portTxStream) headBytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&t.Head)), unsafe.Sizeof(t.Head))
}

// write does what the transmit program does: it writes the stream's next frame
// into b, whose payload is zero already, and moves on.
func (t *portTxStream) write(b []byte, nanos uint64) {
	src, dst := t.Src+uint64(step(&t.SrcPos, t.SrcCount)), t.Dst+uint64(step(&t.DstPos, t.DstCount))
	sport := t.Sport + uint16(step(&t.SportPos, t.SportCount))
	dport := t.Dport + uint16(step(&t.DportPos, t.DportCount))
	offset := frame.SignatureOffset4
	if t.Ipv6 != 0 {
		offset = frame.SignatureOffset6
	}
	copy(b[:offset+6], t.headBytes())
	binary.BigEndian.PutUint16(b[offset-8:], sport)
	binary.BigEndian.PutUint16(b[offset-6:], dport)
	mark := t.Seq<<16 | nanos<<16>>48
	binary.BigEndian.PutUint64(b[offset+6:], mark)
	binary.BigEndian.PutUint32(b[offset+14:], uint32(nanos))
	t.Seq++
	if t.Ipv6 == 0 {
		binary.BigEndian.PutUint32(b[26:], uint32(src))
		binary.BigEndian.PutUint32(b[30:], uint32(dst))
		binary.BigEndian.PutUint16(b[24:], frame.Checksum(uint64(t.Sum)+src+dst))
		return
	}
	binary.BigEndian.PutUint64(b[30:], src)
	binary.BigEndian.PutUint64(b[46:], dst)
	sum := frame.Checksum(uint64(t.Sum) + halves(src) + halves(dst) + uint64(sport) + uint64(dport) +
		halves(mark) + uint64(uint32(nanos)))
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[60:], sum)
}

func halves(v uint64) uint64 { return v>>32 + v&math.MaxUint32 }

// step returns the offset of this frame in a range and moves on.
func step(pos *uint32, count uint32) uint32 {
	now := *pos
	if *pos++; *pos >= count {
		*pos = 0
	}
	return now
}

// skip counts a frame as written and not sent, without writing it.
func (t *portTxStream) skip() {
	step(&t.SrcPos, t.SrcCount)
	step(&t.DstPos, t.DstCount)
	step(&t.SportPos, t.SportCount)
	step(&t.DportPos, t.DportCount)
	t.Seq++
	t.Unsent++
}
