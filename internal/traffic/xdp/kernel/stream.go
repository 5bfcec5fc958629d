package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// CheckStream returns an error if a stream cannot be sent or received.
func CheckStream(s traffic.Stream) error {
	h := s.Headers
	for _, count := range []uint32{h.SrcMACCount, h.DstMACCount} {
		if count > 1<<24 {
			return fmt.Errorf("stream %d: %d hardware addresses in a range, of which %d differ", s.ID, count, 1<<24)
		}
	}
	if !h.SrcIP.IsValid() && !h.DstIP.IsValid() {
		return nil
	}
	switch {
	case !h.SrcIP.IsValid() || !h.DstIP.IsValid() || h.SrcIP.Is4() != h.DstIP.Is4():
		return fmt.Errorf("stream %d: source %v and destination %v are not two addresses of one family", s.ID, h.SrcIP, h.DstIP)
	case h.SrcIPCount < 1 || h.DstIPCount < 1 || h.SrcPortCount < 1 || h.DstPortCount < 1:
		return fmt.Errorf("stream %d: every range needs at least one value", s.ID)
	case uint64(h.SrcPort)+uint64(h.SrcPortCount) > 1<<16 || uint64(h.DstPort)+uint64(h.DstPortCount) > 1<<16:
		return fmt.Errorf("stream %d: a range of UDP ports ends above 65535", s.ID)
	}
	if !sources(h).fit() {
		return fmt.Errorf("stream %d: %d addresses from %v do not fit into the address space", s.ID, h.SrcIPCount, h.SrcIP)
	}
	if !destinations(h).fit() {
		return fmt.Errorf("stream %d: %d addresses from %v, one in every prefix of length %d with stride %d, do not fit into the address space", s.ID, h.DstIPCount, h.DstIP, h.DstIPBits, h.DstIPStride)
	}
	return nil
}

// The values of enum layer, and what every frame has room for.
const (
	layerNone, layerIPv4, layerIPv6, layerCustom = 0, 1, 2, 3
	headLeast                                    = 6
)

// Packet is the first frame of a stream, with the parts of the addresses that
// never change.
func Packet(s traffic.Stream) frame.Packet {
	h := s.Headers
	p := frame.Packet{
		SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, VLANs: h.VLANs,
		Labels: h.Labels, Tunnel: h.Tunnel, TrafficClass: h.TrafficClass, RoCE: h.RoCE, TTL: h.TTL, Payload: h.Payload, Custom: h.Custom, Size: s.FrameSize,
	}
	if h.SrcIP.IsValid() {
		p.Src, p.Dst = sources(h).fixed, destinations(h).fixed
	}
	return p
}

// NewTxStream prepares the frames of a stream in a trial: all that does not change from frame
// to frame, and its part of the checksums. extent is the highest offset at which the payload
// of a stream of the sender begins, and bodies are the bodies of all streams: if some are no
// zeros, every frame is written to its end.
func NewTxStream(s traffic.Stream, epoch uint16, extent int, bodies Bodies) (PortTxStream, error) {
	h, p := s.Headers, Packet(s)
	b, err := p.Build(frame.Signature{Epoch: epoch, Stream: s.ID})
	if err != nil {
		return PortTxStream{}, fmt.Errorf("stream %d: %w", s.ID, err)
	}
	t := PortTxStream{
		SrcCount: h.SrcIPCount, DstCount: h.DstIPCount,
		Sport: h.SrcPort, Dport: h.DstPort, SportCount: h.SrcPortCount, DportCount: h.DstPortCount,
		Smac: low24(h.SrcMAC), SmacCount: max(1, h.SrcMACCount), Dmac: low24(h.DstMAC), DmacCount: max(1, h.DstMACCount),
		Len: uint16(len(b)), Net: uint8(p.NetworkOffset()), Id: s.ID,
	}
	if h.SrcMACCount > 1 || h.DstMACCount > 1 {
		t.Macs = 1
	}
	if p.Custom != nil {
		t.custom(p, b, bodies.Number(s))
		return t, nil
	}
	// Of the signature itself, sequence and time are written frame by frame.
	offset, payload := p.SignatureOffset(), p.PayloadOffset()
	words := max(headLeast, (offset+6+7)/8)
	switch {
	case len(bodies) > 1:
		words = max(words, min((payload+7)/8, len(b)/8))
		if payload < len(b) {
			t.BodyAt, t.Body = uint16(payload), bodies.Number(s)
		}
	case extent > payload:
		t.Mixed, words = 1, max(words, min((extent+7)/8, len(b)/8))
	}
	t.Words = uint8(words)
	ip := b[t.Net:]
	switch {
	case !h.SrcIP.IsValid():
		t.Layer = layerNone
		t.Sum = uint32(frame.Sum(ip[:6])) // of the signature
	case h.SrcIP.Is4():
		t.Layer = layerIPv4
		clear(ip[10:12])
		t.Sum = uint32(frame.Sum(ip[:20]))
		udp := ip[20:]
		t.clearVarying(p, b, udp)
		t.UdpSum = uint32(sumUDP(udp))
	default:
		t.Layer = layerIPv6
		udp := ip[40:]
		t.clearVarying(p, b, udp)
		t.UdpSum = uint32(frame.Sum(ip[8:40]) + sumUDP(udp))
	}
	if t.Layer != layerNone {
		dst := destinations(h)
		t.Src, t.Dst, t.DstStep = sources(h).first, dst.first, dst.step
		t.DstAt = uint8(dst.at)
	}
	copy(t.headBytes(), b)
	if t.Layer == layerNone {
		return t, nil
	}
	t.Ranges = 1
	if max(h.SrcIPCount, h.DstIPCount, h.SrcPortCount, h.DstPortCount) == 1 {
		t.fix(p, b)
	}
	return t, nil
}

// custom prepares a custom frame b, of which all but the signature is in a body.
func (t *PortTxStream) custom(p frame.Packet, b []byte, body uint8) {
	t.Layer, t.Words = layerCustom, headLeast
	t.BodyAt, t.Body = uint16(p.PayloadOffset()-len(p.Custom)), body
	sig := b[p.SignatureOffset():]
	t.Src, t.Sum = binary.LittleEndian.Uint64(sig), uint32(frame.Sum(sig[:6]))
	copy(t.headBytes(), b)
}

// fix puts the addresses and ports, which do not change, into the head and the
// checksums. B is a frame.
func (t *PortTxStream) fix(p frame.Packet, b []byte) {
	if t.Layer == layerIPv4 && t.Net == 14 && t.Words == headLeast && t.Mixed == 0 && t.BodyAt == 0 && t.Macs == 0 {
		t.Plain = 1
	}
	first := *t
	first.Write(b, 0)
	copy(t.headBytes(), b)
	if p.RoCE.Given() {
		t.setICRC(p, b, p.PSNOffset())
	}
	t.UdpSum = uint32(halves(halves(uint64(t.UdpSum) + halves(t.Src) + halves(t.Dst) + uint64(t.Sport) + uint64(t.Dport))))
	t.Ranges = 0
}

// sumUDP is the part of a UDP checksum that does not depend on addresses. What of
// the payload changes from frame to frame is zero in udp.
func sumUDP(udp []byte) uint64 { return frame.Sum(udp) + 17 + uint64(len(udp)) }

// low24 is the part of a hardware address in which ranges count.
func low24(m traffic.MAC) uint32 { return uint32(m[3])<<16 | uint32(m[4])<<8 | uint32(m[5]) }

// headBytes is the head as the bytes of the frame.
func (t *PortTxStream) headBytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&t.Head)), unsafe.Sizeof(t.Head))
}

// Write does what the transmit program does: it writes the stream's next frame
// into b, whose body is there already, and moves on.
func (t *PortTxStream) Write(b []byte, nanos uint64) {
	mark := t.Seq<<16 | nanos<<16>>48
	if t.Mixed != 0 {
		clear(b[len(b)-8:])
	}
	copy(b, t.headBytes()[:8*int(t.Words)])
	if t.Macs != 0 {
		putMAC(b[3:], t.Dmac, step(&t.DmacPos, t.DmacCount))
		putMAC(b[9:], t.Smac, step(&t.SmacPos, t.SmacCount))
	}
	t.Seq++
	net := b[t.Net:]
	if t.Layer == layerCustom {
		net = b[int(t.Len)-frame.SignatureSize-frame.EthernetCheckSize:]
		binary.LittleEndian.PutUint64(net, t.Src)
	}
	if t.Layer == layerNone || t.Layer == layerCustom {
		putSignature(net, mark, nanos)
		binary.BigEndian.PutUint16(net[18:], frame.Checksum(uint64(t.Sum)+halves(mark)+uint64(uint32(nanos))))
		return
	}
	udp, sum := net[20:], uint64(0)
	if t.Layer == layerIPv6 {
		udp = net[40:]
	}
	if t.Ranges != 0 {
		src, dst := t.Src+uint64(step(&t.SrcPos, t.SrcCount)), t.Dst+uint64(step(&t.DstPos, t.DstCount))*t.DstStep
		sport := t.Sport + uint16(step(&t.SportPos, t.SportCount))
		dport := t.Dport + uint16(step(&t.DportPos, t.DportCount))
		sum = halves(src) + halves(dst) + uint64(sport) + uint64(dport)
		if t.Layer == layerIPv4 {
			binary.BigEndian.PutUint16(net[10:], frame.Checksum(uint64(t.Sum)+src+dst))
			binary.BigEndian.PutUint32(net[12:], uint32(src))
			binary.BigEndian.PutUint32(net[16:], uint32(dst))
		} else {
			binary.BigEndian.PutUint64(net[16:], src)
			binary.BigEndian.PutUint64(net[24+int(t.DstAt):], dst)
		}
		binary.BigEndian.PutUint16(udp, sport)
		binary.BigEndian.PutUint16(udp[2:], dport)
	}
	sig := udp[8:]
	if t.IcrcFrom != 0 {
		number := uint32(t.Seq-1) & 0xffffff
		binary.BigEndian.PutUint32(udp[16:], number)
		sig = udp[20:]
		putSignature(sig, mark, nanos)
		steer := t.IcrcSum ^ frame.CRCRegister(0, net[t.IcrcFrom:len(net)-len(sig)+frame.SignatureSize])
		binary.LittleEndian.PutUint32(sig[frame.SignatureSize:], steer)
		sum += uint64(number) + uint64(bits.ReverseBytes32(steer))
	}
	check := frame.Checksum(uint64(t.UdpSum) + sum + halves(mark) + uint64(uint32(nanos)))
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], check)
	putSignature(sig, mark, nanos)
}

// clearVarying clears what a frame b is written with frame by frame, before the rest is summed
// up.
func (t *PortTxStream) clearVarying(p frame.Packet, b, udp []byte) {
	clear(udp[6:8])
	if p.RoCE.Given() {
		t.setICRC(p, b, p.AddressOffset())
		clear(b[p.SteerOffset():][:frame.SteerBytes])
	}
}

// setICRC makes the frames of RoCEv2 have a right ICRC. b is one of them, of which all in front
// of from is the same in every frame, or does not count. By the CRC's linearity, what counts
// there changes nothing but the sum.
func (t *PortTxStream) setICRC(p frame.Packet, b []byte, from int) {
	t.IcrcFrom = uint8(from - p.NetworkOffset())
	at := p.SteerOffset()
	t.IcrcSum = binary.LittleEndian.Uint32(b[at:]) ^ frame.CRCRegister(0, b[from:at])
}

// putSignature writes what of a signature changes from frame to frame.
func putSignature(b []byte, mark, nanos uint64) {
	binary.BigEndian.PutUint64(b[6:], mark)
	binary.BigEndian.PutUint32(b[14:], uint32(nanos))
}

// putMAC writes the lower half of address n of a range, as traffic.MAC.Nth has it.
func putMAC(b []byte, first, n uint32) {
	low := first + n*traffic.MACSpread
	b[0], b[1], b[2] = byte(low>>16), byte(low>>8), byte(low)
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

// stepBack undoes the last steps.
func stepBack(pos *uint32, count, steps uint32) {
	if count > 0 {
		*pos = (*pos + count - steps%count) % count
	}
}

// TakeBack lets the next frame have the number and the places in ranges of a refused frame. The
// frame is the newest of the stream.
func (t *PortTxStream) TakeBack(f PortTxFrame) {
	t.Seq--
	t.Refused++
	if f.Replay == 0 {
		t.MoveBack(1)
	}
}

// MoveBack moves the places of the stream in its ranges back by some frames.
func (t *PortTxStream) MoveBack(frames uint32) {
	if t.Macs != 0 {
		stepBack(&t.DmacPos, t.DmacCount, frames)
		stepBack(&t.SmacPos, t.SmacCount, frames)
	}
	if t.Ranges == 0 {
		return
	}
	stepBack(&t.SrcPos, t.SrcCount, frames)
	stepBack(&t.DstPos, t.DstCount, frames)
	stepBack(&t.SportPos, t.SportCount, frames)
	stepBack(&t.DportPos, t.DportCount, frames)
}

// MoveOn moves the places of the stream in its ranges on by a frame.
func (t *PortTxStream) MoveOn() {
	if t.Macs != 0 {
		step(&t.DmacPos, t.DmacCount)
		step(&t.SmacPos, t.SmacCount)
	}
	if t.Ranges == 0 {
		return
	}
	step(&t.SrcPos, t.SrcCount)
	step(&t.DstPos, t.DstCount)
	step(&t.SportPos, t.SportCount)
	step(&t.DportPos, t.DportCount)
}
