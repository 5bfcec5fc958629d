package frame

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// RoCEPort is the UDP destination port of RoCEv2.
	RoCEPort = 4791
	// psnOffset is the offset of the packet sequence number (PSN) in the Base Transport Header,
	// in bytes.
	psnOffset = 9
	bthBytes  = 12
	icrcBytes = 4
	// SteerBytes is the length of the word behind the signature that sets the ICRC.
	SteerBytes = 4
	// wordBytes is the length of the words of a payload.
	wordBytes = 4

	maxQP  = 1<<24 - 1
	maxPSN = 1<<24 - 1
)

// RoCE contains the fields of the Base Transport Header of RoCEv2 (InfiniBand Architecture
// Specification volume 1, section 9.2 and annex A17), which follows UDP. The zero value is none.
type RoCE struct {
	// Opcode of a packet without extended headers; 0 for frames without the header.
	Opcode uint8
	// PartitionKey of 16 bits.
	PartitionKey uint16
	// DestinationQP is the destination queue pair, of 24 bits.
	DestinationQP uint32
	// CNP are the answers to marked frames.
	CNP CNP
}

// opcodes are the values of the opcodes of profiles (section 9.2.1).
var opcodes = map[v1alpha1.RoCEv2Opcode]uint8{v1alpha1.RCSendOnly: 0x04, v1alpha1.RCWriteMiddle: 0x07, v1alpha1.UCSendOnly: 0x24}

// The values of fields that a profile does not give.
const (
	defaultPartition = 0xffff
	defaultQP        = 2
)

// RoCEOf returns the header that a profile gives; the zero value for none.
func RoCEOf(r *v1alpha1.RoCEv2Packet) RoCE {
	if r == nil {
		return RoCE{}
	}
	h := RoCE{Opcode: opcodes[cmp.Or(r.Opcode, v1alpha1.RCSendOnly)], PartitionKey: defaultPartition, DestinationQP: defaultQP, CNP: cnpOf(r.CNP)}
	if r.PartitionKey != nil {
		h.PartitionKey = uint16(*r.PartitionKey)
	}
	if r.DestinationQP != nil {
		h.DestinationQP = uint32(*r.DestinationQP)
	}
	return h
}

// RoCESizes returns the next sizes below and above a size, in bytes with FCS, at which frames of a
// packet carry whole words; both are the size itself if it is one, or if the packet is not of
// RoCEv2.
func RoCESizes(packet v1alpha1.Packet, size int) (below, above int) {
	if packet.RoCEv2 == nil {
		return size, size
	}
	over := (size - sum(parts(packet))) % wordBytes
	if over == 0 {
		return size, size
	}
	return size - over, size - over + wordBytes
}

// Given reports whether frames have the header.
func (r RoCE) Given() bool { return r.Opcode != 0 }

// bytes of the header.
func (r RoCE) bytes() int {
	if r.Given() {
		return bthBytes
	}
	return 0
}

// steerBytes returns the length of the word that sets the ICRC.
func (r RoCE) steerBytes() int {
	if r.Given() {
		return SteerBytes
	}
	return 0
}

// put writes the header to the beginning of b. The PSN is the sequence number of the frame,
// modulo 2^24.
func (r RoCE) put(b []byte, sequence uint64) {
	b[0] = r.Opcode
	binary.BigEndian.PutUint16(b[2:], r.PartitionKey)
	binary.BigEndian.PutUint32(b[4:], r.DestinationQP)
	binary.BigEndian.PutUint32(b[psnOffset-1:], uint32(sequence&maxPSN))
}

// check returns an error if frames between two addresses cannot have the header.
func (r RoCE) check(p Packet) error {
	switch {
	case !r.Given():
		return nil
	case !p.Src.IsValid() || p.Tunnel.Kind != "":
		return fmt.Errorf("RoCEv2 with source %v and tunnel %q: want an IP packet outside of a tunnel", p.Src, p.Tunnel.Kind)
	case r.DestinationQP > maxQP:
		return fmt.Errorf("RoCEv2 with destination queue pair %d: want 0 to %d", r.DestinationQP, maxQP)
	}
	return nil
}

// RoCESurplus returns by how many bytes a frame of RoCEv2 is too long: its payload has whole
// words of 4 bytes (section 9.2.3). 0 for other frames.
func (p Packet) RoCESurplus() int {
	if !p.RoCE.Given() {
		return 0
	}
	return (p.Size - fcsBytes - p.SignatureOffset()) % wordBytes
}

// CRCRegister updates the register of the CRC-32 of IEEE 802.3, which starts as all ones and is
// inverted at the end.
func CRCRegister(r uint32, b []byte) uint32 { return ^crc32.Update(^r, crc32.IEEETable, b) }

// registerBack undoes the last bytes of CRCRegister.
func registerBack(r uint32, b []byte) uint32 {
	for n := len(b) - 1; n >= 0; n-- {
		for i, entry := range crc32.IEEETable {
			if entry>>24 == r>>24 { // each entry has another upper byte
				r = (r^entry)<<8 | uint32(byte(i)^b[n])
				break
			}
		}
	}
	return r
}

// ICRC returns the invariant CRC (annex A17.3.3) of an IP packet of RoCEv2, whose last 4
// bytes have place for it. It covers what routers leave as it is: type of service, time to
// live and checksums count as ones, and the byte with the congestion bits as well.
func ICRC(ip []byte) uint32 {
	return ^icrcRegister(ip[:len(ip)-icrcBytes])
}

// icrcRegister returns the register behind the first bytes of an IP packet, which include the
// Base Transport Header.
func icrcRegister(ip []byte) uint32 {
	masked := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ip...) // the local route header
	ones := func(b []byte) {
		for i := range b {
			b[i] = 0xff
		}
	}
	head, udp := masked[8:], masked[8+ipv4Bytes:]
	if head[0]>>4 == 6 {
		udp = masked[8+ipv6Bytes:]
		head[0] |= 0xf
		ones(head[1:4]) // traffic class and flow label
		ones(head[7:8])
	} else {
		ones(head[1:2])
		ones(head[8:9])
		ones(head[10:12])
	}
	ones(udp[6:8])
	ones(udp[udpBytes+4 : udpBytes+5])
	return CRCRegister(^uint32(0), masked)
}

// steer writes into a packet of RoCEv2 the word behind the signature by which the last 4 bytes of the payload are the
// ICRC of the packet. So the payload needs no place for the ICRC that changes from frame to
// frame, and a receiver checks it as in every other frame.
func (p Packet) steer(ip []byte) {
	if !p.RoCE.Given() {
		return
	}
	at := p.SteerOffset() - p.NetworkOffset()
	behind := ip[at+SteerBytes:]
	end := len(behind) - icrcBytes
	wanted := registerBack(^binary.LittleEndian.Uint32(behind[end:]), behind[:end])
	// The bytes of the word are added to the register: four zeros lead from the sum to what
	// is wanted.
	sum := registerBack(wanted, make([]byte, SteerBytes))
	binary.LittleEndian.PutUint32(ip[at:], sum^icrcRegister(ip[:at]))
}

// SteerOffset returns the offset of the word that sets the ICRC.
func (p Packet) SteerOffset() int { return p.SignatureOffset() + SignatureSize }

// PSNOffset returns the offset of the packet sequence number, of 3 bytes, of RoCEv2.
func (p Packet) PSNOffset() int { return p.SignatureOffset() - bthBytes + psnOffset }

// AddressOffset returns the offset of the source address.
func (p Packet) AddressOffset() int {
	if p.Src.Is6() {
		return p.NetworkOffset() + ipv6Bytes - 2*netip.IPv6Unspecified().BitLen()/8
	}
	return p.NetworkOffset() + ipv4Bytes - 2*netip.IPv4Unspecified().BitLen()/8
}
