package frame

import (
	"encoding/binary"
	"fmt"
)

// EtherTypeTest is the EtherType of test frames without a network layer: the first
// of IEEE 802 for local experiments.
const EtherTypeTest = 0x88b5

const (
	// MaxLabels is the deepest label stack of a test frame.
	MaxLabels = 4
	// MaxLabel is the highest label, of 20 bits; 0 to 15 have special meanings (RFC
	// 3032 section 2.1).
	MaxLabel = 1<<20 - 1

	labelBytes = 4
	// The EtherTypes of IEEE 802.1Q and of RFC 3032.
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherMPLS = 0x8847
	// bottomOfStack marks the last label.
	bottomOfStack = 1 << 8
)

// linkBytes returns the number of bytes before the outermost network layer: Ethernet, the
// tags and the labels.
func (p Packet) linkBytes() int {
	return ethernetBytes + p.VLANs.Bytes() + labelBytes*len(p.Labels)
}

// NetworkOffset returns the offset of the network layer, in a tunnel that of the inner one.
func (p Packet) NetworkOffset() int { return p.linkBytes() + p.Tunnel.Bytes() }

// SignatureOffset returns the offset of the signature.
func (p Packet) SignatureOffset() int {
	switch {
	case p.Custom != nil:
		return p.Size - fcsBytes - customSignature
	case p.Src.Is4():
		return p.NetworkOffset() + ipv4Bytes + udpBytes + p.RoCE.bytes()
	case p.Src.IsValid():
		return p.NetworkOffset() + ipv6Bytes + udpBytes + p.RoCE.bytes()
	}
	return p.NetworkOffset()
}

// PayloadOffset returns the offset of the pattern of the payload: behind the signature, and
// behind its checksum in a frame without a network layer, or the balance; in a frame of RoCEv2
// behind the word that sets its ICRC, and in a custom frame behind its bytes.
func (p Packet) PayloadOffset() int {
	if p.Custom != nil {
		return tagsAt + p.VLANs.Bytes() + len(p.Custom)
	}
	n := p.SignatureOffset() + SignatureSize + p.RoCE.steerBytes()
	switch {
	case !p.Src.IsValid():
		n += EthernetCheckSize
	case p.Balanced():
		n += balanceSize
	}
	return n
}

// MinSize is the smallest size, with FCS, that holds headers and signature.
func (p Packet) MinSize() int {
	if p.Custom != nil {
		return max(EthernetMinSize, p.PayloadOffset()+customSignature+fcsBytes)
	}
	p.Payload = Zeros
	least := p.PayloadOffset() + fcsBytes
	if p.RoCE.Given() {
		payload := SignatureSize + SteerBytes + icrcBytes
		least = p.SignatureOffset() + (payload+wordBytes-1)/wordBytes*wordBytes + fcsBytes
	}
	return max(EthernetMinSize, least)
}

// check returns an error if the packet cannot be built.
func (p Packet) check() error {
	switch {
	case p.Src.IsValid() != p.Dst.IsValid() || p.Src.Is4() != p.Dst.Is4():
		return fmt.Errorf("source %v and destination %v: want two addresses of one family, or none", p.Src, p.Dst)
	case p.Tunnel.Kind != "" && !p.Src.IsValid():
		return fmt.Errorf("%s tunnel around a frame without addresses: want a packet in it", p.Tunnel.Kind)
	case len(p.VLANs) > MaxVLANs:
		return fmt.Errorf("%d VLAN tags: want at most %d", len(p.VLANs), MaxVLANs)
	case len(p.Labels) > MaxLabels:
		return fmt.Errorf("%d MPLS labels: want at most %d", len(p.Labels), MaxLabels)
	}
	for _, tag := range p.VLANs {
		if tag.ID < 1 || tag.ID > MaxVLAN || tag.Priority > 7 {
			return fmt.Errorf("VLAN %d with priority %d: want 1 to %d, and 0 to 7", tag.ID, tag.Priority, MaxVLAN)
		}
	}
	for _, label := range p.Labels {
		if label > MaxLabel {
			return fmt.Errorf("MPLS label %d: want 0 to %d", label, MaxLabel)
		}
	}
	if err := p.Tunnel.check(); err != nil {
		return err
	}
	if err := p.RoCE.check(p); err != nil {
		return err
	}
	if err := p.checkCustom(); err != nil {
		return err
	}
	if !p.Payload.known() {
		return fmt.Errorf("payload %q: want %s, %s, %s, %s or none for zeros", p.Payload, Ones, Alternating, Incrementing, Random)
	}
	if least := p.MinSize(); p.Size < least || p.Size > MaxSize {
		return fmt.Errorf("frame size %d: a frame with these headers and a signature has %d to %d bytes", p.Size, least, MaxSize)
	}
	if over := p.RoCESurplus(); over > 0 {
		return fmt.Errorf("frame size %d: RoCEv2 carries words of %d bytes: want %d or %d", p.Size, wordBytes, p.Size-over, p.Size-over+wordBytes)
	}
	return nil
}

// putLink writes what stands before the network layer. The labels carry the
// precedence of the packet in their traffic class (RFC 5462).
func (p Packet) putLink(b []byte) {
	copy(b, p.DstMAC[:])
	copy(b[6:], p.SrcMAC[:])
	b = b[tagsAt:]
	b = b[copy(b, p.VLANs.append(nil)):]
	binary.BigEndian.PutUint16(b, p.etherType())
	b = b[2:]
	for i, label := range p.Labels {
		entry := label<<12 | uint32(p.TrafficClass>>5)<<9 | uint32(p.TTL)
		if i == len(p.Labels)-1 {
			entry |= bottomOfStack
		}
		binary.BigEndian.PutUint32(b[labelBytes*i:], entry)
	}
}

func (p Packet) etherType() uint16 {
	switch {
	case len(p.Labels) > 0:
		return etherMPLS
	case p.Tunnel.Kind != "" && p.Tunnel.Src.Is6():
		return etherIPv6
	case p.Tunnel.Kind != "":
		return etherIPv4
	}
	return p.packetType()
}

// packetType is the EtherType of the packet, in a tunnel that of the inner one.
func (p Packet) packetType() uint16 {
	switch {
	case p.Src.Is4():
		return etherIPv4
	case p.Src.IsValid():
		return etherIPv6
	}
	return EtherTypeTest
}
