package frame

import (
	"encoding/binary"
	"net/netip"
)

const (
	// Magic is the first field of a signature.
	Magic = 0xd50f
	// SignatureSize is the length of a signature in bytes.
	SignatureSize = 18
	// EthernetCheckSize is the length of the checksum that follows the signature of
	// a frame without a network layer.
	EthernetCheckSize = 2

	mask48     = 1<<48 - 1
	protoUDP   = 17
	dontFrag   = 0x4000
	defaultTTL = 64
)

// Packet is the test frame of a stream: Ethernet, VLAN tags, MPLS labels and a
// tunnel if any, IPv4 or IPv6, UDP, the header of RoCEv2 if any, signature and payload. Without addresses the signature
// follows the EtherType or the last label, and its checksum follows the signature.
type Packet struct {
	// SrcMAC and DstMAC are the Ethernet addresses.
	SrcMAC, DstMAC [6]byte
	// VLANs are the tags.
	VLANs VLANs
	// Labels are the MPLS label stack (RFC 3032), outermost first.
	Labels []uint32
	// Tunnel that carries the packet.
	Tunnel Tunnel
	// TrafficClass is the type of service of IPv4 or the traffic class of IPv6.
	TrafficClass uint8
	// Custom contains the bytes after the addresses and tags, from the EtherType on, in
	// place of all other headers; nil for none. The signature is then at the end of the
	// frame, with its checksum.
	Custom []byte
	// Src and Dst are addresses of one family, or both invalid.
	Src, Dst netip.Addr
	// SrcPort and DstPort are the UDP ports.
	SrcPort, DstPort uint16
	// RoCE is the Base Transport Header behind UDP, whose destination port has to be RoCEPort.
	RoCE RoCE
	// TTL is the time to live, hop limit and TTL of the labels; 0 means 64.
	TTL uint8
	// Payload behind the signature. With UDP it needs 10 bytes; fewer are zeros.
	Payload Payload
	// Size in bytes with FCS: MinSize to MaxSize.
	Size int
}

// Build returns the frame without FCS. It has a UDP checksum over IPv4 too, by
// which the receiver checks what a router leaves as it is: addresses, ports,
// length and payload. NAT changes addresses and ports, and the checksum with them.
func (p Packet) Build(sig Signature) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.TTL == 0 {
		p.TTL = defaultTTL
	}
	b := make([]byte, p.Size-fcsBytes)
	if p.Custom != nil {
		p.putCustom(b, sig)
		return b, nil
	}
	p.putLink(b)
	if p.Tunnel.Kind != "" {
		p.putTunnel(b[p.linkBytes():], sig.Stream)
	}
	sig.Put(b[p.SignatureOffset():])
	p.putPayload(b)
	if p.RoCE.Given() {
		p.RoCE.put(b[p.SignatureOffset()-bthBytes:], sig.Sequence)
	}
	ip := b[p.NetworkOffset():]
	switch {
	case p.Src.Is4():
		p.put4(ip)
	case p.Src.Is6():
		p.put6(ip)
	default:
		binary.BigEndian.PutUint16(ip[SignatureSize:], Checksum(Sum(ip[:SignatureSize])))
	}
	return b, nil
}

// put4 writes the headers of IPv4 and UDP.
func (p Packet) put4(ip []byte) {
	udp := ip[ipv4Bytes:]
	p.putUDP(udp)
	p.putIP(ip, protoUDP, p.Src, p.Dst)
	p.steer(ip)
	putUDPChecksum(udp, ip[12:ipv4Bytes])
}

// putIP writes the header of a packet that is as long as ip.
func (p Packet) putIP(ip []byte, protocol uint8, src, dst netip.Addr) {
	if src.Is6() {
		ip[0], ip[1] = 6<<4|p.TrafficClass>>4, p.TrafficClass<<4
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ipv6Bytes))
		ip[6], ip[7] = protocol, p.TTL
		copy(ip[8:], src.AsSlice())
		copy(ip[24:], dst.AsSlice())
		return
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip = ip[:ipv4Bytes]
	ip[0], ip[1] = 4<<4|5, p.TrafficClass
	binary.BigEndian.PutUint16(ip[6:], dontFrag)
	ip[8], ip[9] = p.TTL, protocol
	copy(ip[12:], src.AsSlice())
	copy(ip[16:], dst.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], Checksum(Sum(ip)))
}

// ipBytes is the size of an IP header with an address.
func ipBytes(a netip.Addr) int {
	if a.Is6() {
		return ipv6Bytes
	}
	return ipv4Bytes
}

// put6 writes the headers of IPv6 and UDP.
func (p Packet) put6(ip []byte) {
	udp := ip[ipv6Bytes:]
	p.putUDP(udp)
	p.putIP(ip, protoUDP, p.Src, p.Dst)
	p.steer(ip)
	putUDPChecksum(udp, ip[8:ipv6Bytes])
}

// putUDPChecksum writes the UDP checksum (RFC 768) between two addresses.
func putUDPChecksum(udp, addresses []byte) {
	sum := Checksum(Sum(udp) + Sum(addresses) + protoUDP + uint64(len(udp)))
	if sum == 0 {
		sum = 0xffff // 0 would mean that there is none
	}
	binary.BigEndian.PutUint16(udp[6:], sum)
}

func (p Packet) putUDP(udp []byte) {
	binary.BigEndian.PutUint16(udp, p.SrcPort)
	binary.BigEndian.PutUint16(udp[2:], p.DstPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
}

// Signature contains the data that every test frame carries, big endian, right after its
// last header: magic, epoch and stream of 16 bits, sequence and time of 48 bits.
type Signature struct {
	// Epoch marks the trial.
	Epoch uint16
	// Stream is the stream's ID.
	Stream uint16
	// Sequence counts the stream's frames from 0, in 48 bits.
	Sequence uint64
	// Nanos is the time at which the frame was sent, on the monotonic clock, in 48 bits.
	Nanos uint64
}

// Put writes the signature into the first 18 bytes of b.
func (s Signature) Put(b []byte) {
	binary.BigEndian.PutUint16(b, Magic)
	binary.BigEndian.PutUint16(b[2:], s.Epoch)
	binary.BigEndian.PutUint16(b[4:], s.Stream)
	binary.BigEndian.PutUint64(b[6:], s.Sequence<<16|s.Nanos&mask48>>32)
	binary.BigEndian.PutUint32(b[14:], uint32(s.Nanos))
}

// Sum adds up b as big endian 16 bit words, an odd byte at the end as if a zero
// followed. Sums of parts may be added, where the parts begin at even offsets.
func Sum(b []byte) uint64 {
	var sum uint64
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// Checksum returns the Internet checksum (RFC 1071) of a Sum.
func Checksum(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
